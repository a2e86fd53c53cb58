#include "constraint/regex_parser.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "base/text.h"
#include "base/to_size.h"
#include "base/utf8.h"

namespace octavo {
namespace {

CodePointSet line_ends() {
  CodePointSet set('\n');
  set.add('\r');
  set.add(0x2028, 0x202A);
  return set;
}

}  // namespace

Result<RegexNode> RegexParser::parse() {
  if (text_.size() > kMaxRegexBytes)
    return fail("found a pattern of {} bytes, expected at most {}", text_.size(), kMaxRegexBytes);
  if (!is_valid_utf8(text_)) return fail("found the pattern {}, expected UTF-8", quote(text_));
  OCTAVO_TRY(RegexNode node, parse_alternatives(0));
  if (!at_end()) return refuse("a ')' that closes nothing");
  return node;
}

std::unexpected<Error> RegexParser::refuse(std::string_view found) const {
  return fail("the pattern {}: found {} at byte {}", quote(text_), found, place_);
}

bool RegexParser::takes(std::string_view expected) {
  if (!text_.substr(place_).starts_with(expected)) return false;
  place_ += expected.size();
  return true;
}

std::uint32_t RegexParser::take_character() {
  const std::uint32_t code_point = decode_utf8(text_.substr(place_));
  place_ += utf8_announced_length(text_[place_]);
  return code_point;
}

Result<void> RegexParser::count_ranges(const CodePointSet& set) {
  num_ranges_ += set.ranges().size();
  if (num_ranges_ > kMaxRegexRanges) return refuse(fmt::format("more than {} ranges of characters", kMaxRegexRanges));
  if (!work_.add(1 + set.ranges().size())) return std::unexpected(work_.error());
  return {};
}

Result<RegexNode> RegexParser::node_of(CodePointSet set) {
  OCTAVO_TRY_VOID(count_ranges(set));
  return RegexNode{.kind = Kind::kSet, .set = std::move(set)};
}

Result<RegexNode> RegexParser::parse_alternatives(int depth) {
  if (depth > kMaxRegexDepth) return refuse(fmt::format("groups nested deeper than {} levels", kMaxRegexDepth));
  RegexNode node{.kind = Kind::kAlternatives};
  do {
    OCTAVO_TRY(RegexNode child, parse_sequence(depth));
    node.children.push_back(std::move(child));
  } while (takes("|"));
  if (node.children.size() > 1) return node;
  RegexNode only = std::move(node.children.front());
  return only;
}

Result<RegexNode> RegexParser::parse_sequence(int depth) {
  RegexNode node{.kind = Kind::kSequence};
  while (!at_end() && text_[place_] != '|' && text_[place_] != ')') {
    OCTAVO_TRY(RegexNode atom, parse_atom(depth));
    OCTAVO_TRY(RegexNode repeated, parse_quantifier(std::move(atom)));
    node.children.push_back(std::move(repeated));
  }
  return node;
}

Result<RegexNode> RegexParser::parse_atom(int depth) {
  if (takes("(")) return parse_group(depth + 1);
  if (takes("^")) return RegexNode{.kind = Kind::kBegin};
  if (takes("$")) return RegexNode{.kind = Kind::kEnd};
  if (takes(".")) return node_of(line_ends().complement());
  if (takes("[")) {
    OCTAVO_TRY(CodePointSet set, parse_class());
    return node_of(std::move(set));
  }
  for (const char quantifier : {'*', '+', '?'})
    if (text_[place_] == quantifier) return refuse(fmt::format("'{}' with nothing to repeat before it", quantifier));
  if (takes("\\")) {
    OCTAVO_TRY(CodePointSet set, parse_escape(false));
    return node_of(std::move(set));
  }
  return node_of(CodePointSet(take_character()));
}

Result<RegexNode> RegexParser::parse_group(int depth) {
  for (const std::string_view look : {"?=", "?!", "?<=", "?<!"})
    if (text_.substr(place_).starts_with(look))
      return refuse(
          fmt::format("a look-around ({}...) elsewhere than a look-ahead behind ^ or a look-behind before $", look));
  if (takes("?<")) {
    const std::size_t end = text_.find('>', place_);
    if (end == std::string_view::npos) return refuse("a group's name that is not closed");
    place_ = end + 1;
  } else if (!takes("?:") && text_.substr(place_).starts_with("?")) {
    return refuse("a group other than (...), (?:...) and (?<name>...)");
  }
  OCTAVO_TRY(RegexNode group, parse_alternatives(depth));
  if (!takes(")")) return refuse("a group that is not closed");
  return group;
}

std::optional<std::uint32_t> RegexParser::take_number() {
  std::uint32_t number = 0;
  const char* begin = text_.data() + place_;
  const auto [end, error] = std::from_chars(begin, text_.data() + text_.size(), number);
  if (end == begin) return std::nullopt;
  place_ += to_size(end - begin);
  // More than any text has: the automaton's bound refuses it.
  return error == std::errc() ? std::min(number, Grammar::kAnyNumber - 1) : Grammar::kAnyNumber - 1;
}

Result<std::optional<RegexNode>> RegexParser::parse_counts() {
  const std::size_t begin = place_;
  const auto is_character = [&] {
    place_ = begin;
    return std::optional<RegexNode>();
  };
  ++place_;
  const auto min = take_number();
  if (!min) return is_character();
  std::uint32_t max = *min;
  if (takes(",")) max = take_number().value_or(Grammar::kAnyNumber);
  if (!takes("}")) return is_character();
  if (max < *min) return refuse("counts whose first is above their second");
  return RegexNode{.kind = Kind::kRepeat, .min = *min, .max = max};
}

Result<RegexNode> RegexParser::parse_quantifier(RegexNode atom) {
  const char next = at_end() ? '\0' : text_[place_];
  RegexNode repeat{.kind = Kind::kRepeat, .min = next == '+' ? 1U : 0U, .max = next == '?' ? 1U : Grammar::kAnyNumber};
  if (next == '{') {
    OCTAVO_TRY(std::optional<RegexNode> counted, parse_counts());
    if (!counted) return atom;
    repeat = std::move(*counted);
  } else if (next == '*' || next == '+' || next == '?') {
    ++place_;
  } else {
    return atom;
  }
  repeat.children.push_back(std::move(atom));
  takes("?");  // a lazy quantifier matches the same texts
  for (const std::string_view further : {"*", "+", "?"})
    if (text_.substr(place_).starts_with(further)) return refuse("a quantifier behind a quantifier");
  return repeat;
}

}  // namespace octavo
