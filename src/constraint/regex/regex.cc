#include "constraint/regex/regex.h"

#include <algorithm>
#include <span>

#include "base/text.h"
#include "constraint/regex/character_dfa.h"
#include "constraint/regex/look_around.h"

namespace octavo {
namespace {

using Kind = RegexNode::Kind;

/// The border of a part of a pattern, on one side.
enum class Border : std::uint8_t {
  kInner,   // other parts of the pattern stand there
  kOpen,    // the pattern ends there, and any text may follow
  kClosed,  // the text ends there
};

/// Makes expressions of a pattern's tree. What may stand around a match is pushed down to the borders, where ^ and $
/// take it away.
class RegexWriter {
 public:
  RegexWriter(std::string_view pattern, const CharacterWriter& write, Grammar& grammar)
      : pattern_(pattern), write_(write), grammar_(grammar) {}

  Result<ExpressionId> write(const RegexNode& node, Border left, Border right) {
    switch (node.kind) {
      case Kind::kSet: return between(left, write_(grammar_, node.set), right);
      case Kind::kBegin:
      case Kind::kEnd: return write_sequence({&node, 1}, left, right);
      case Kind::kSequence: return write_sequence(node.children, left, right);
      case Kind::kAlternatives: return write_alternatives(node, left, right);
      case Kind::kRepeat: {
        OCTAVO_TRY(const ExpressionId child, write(node.children.front(), Border::kInner, Border::kInner));
        return between(left, grammar_.repeat(child, node.min, node.max), right);
      }
      case Kind::kNext:
      case Kind::kNotNext: break;  // not in ECMA's dialect
    }
    return grammar_.empty();
  }

 private:
  Result<ExpressionId> write_alternatives(const RegexNode& node, Border left, Border right) {
    std::vector<ExpressionId> children;
    for (const RegexNode& child : node.children) {
      OCTAVO_TRY(const ExpressionId written, write(child, left, right));
      children.push_back(written);
    }
    return grammar_.alternatives(std::move(children));
  }

  Result<ExpressionId> write_sequence(std::span<const RegexNode> nodes, Border left, Border right) {
    for (; !nodes.empty() && nodes.front().kind == Kind::kBegin; nodes = nodes.subspan(1)) {
      if (left == Border::kInner) return refuse_anchor('^');
      left = Border::kClosed;
    }
    for (; !nodes.empty() && nodes.back().kind == Kind::kEnd; nodes = nodes.first(nodes.size() - 1)) {
      if (right == Border::kInner) return refuse_anchor('$');
      right = Border::kClosed;
    }
    if (nodes.empty()) return between(left, grammar_.empty(), right);
    if (nodes.size() == 1) return write(nodes[0], left, right);
    std::vector<ExpressionId> children;
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      OCTAVO_TRY(const ExpressionId written,
                 write(nodes[i], i == 0 ? left : Border::kInner, i + 1 == nodes.size() ? right : Border::kInner));
      children.push_back(written);
    }
    return grammar_.sequence(std::move(children));
  }

  ExpressionId between(Border left, ExpressionId expression, Border right) {
    std::vector<ExpressionId> parts;
    if (left == Border::kOpen) parts.push_back(any_text());
    parts.push_back(expression);
    if (right == Border::kOpen) parts.push_back(any_text());
    return grammar_.sequence(std::move(parts));
  }

  ExpressionId any_text() {
    return grammar_.repeat(write_(grammar_, CodePointSet().complement()), 0, Grammar::kAnyNumber);
  }

  std::unexpected<Error> refuse_anchor(char anchor) const {
    return fail("the pattern {}: found '{}' inside of it, expected it at an end", quote(pattern_), anchor);
  }

  std::string_view pattern_;
  const CharacterWriter& write_;
  Grammar& grammar_;
};

}  // namespace

Result<RegexNode> parse_ecma_regex(std::string_view pattern, CompileWork& work) {
  const auto count = [&work](std::uint64_t num_steps) -> Result<void> {
    if (!work.add(num_steps)) return std::unexpected(work.error());
    return {};
  };
  return parse_regex(
      pattern, {.dialect = RegexDialect::kEcma, .max_bytes = std::size_t{1} << 16, .max_depth = 200, .count = count});
}

Result<ExpressionId> read_regex(std::string_view pattern, RegexReach reach, const CharacterWriter& write,
                                Grammar& grammar) {
  if (!split_look_around(pattern, reach).looks.empty()) {
    OCTAVO_TRY(const std::optional<CharacterDfa> texts, CharacterDfa::of_pattern(pattern, reach, grammar.work()));
    if (!texts) return fail("the pattern {}: with what it looks around for it takes too many states", quote(pattern));
    return texts->is_empty() ? Grammar::nothing() : texts->write(write, grammar);
  }
  OCTAVO_TRY(const RegexNode tree, parse_ecma_regex(pattern, grammar.work()));
  const Border border = reach == RegexReach::kWhole ? Border::kClosed : Border::kOpen;
  return RegexWriter(pattern, write, grammar).write(tree, border, border);
}

Result<ExpressionId> read_regex(std::string_view pattern, RegexReach reach, Grammar& grammar) {
  const CharacterWriter as_it_is = [](Grammar& to, const CodePointSet& set) { return to.set(set); };
  return read_regex(pattern, reach, as_it_is, grammar);
}

}  // namespace octavo
