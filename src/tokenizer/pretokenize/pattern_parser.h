// Reads a pattern (pattern.h) by recursive descent. Only Pattern::parse() uses it.
#pragma once

#include <optional>
#include <string_view>

#include "tokenizer/pretokenize/pattern.h"

namespace octavo {

class PatternParser {
 public:
  explicit PatternParser(std::string_view text) : text_(text) {}

  Result<Pattern> parse();

 private:
  using Kind = PatternNode::Kind;

  Result<std::uint32_t> parse_alternatives(bool ignores_case, int depth);
  Result<std::uint32_t> parse_sequence(bool ignores_case, int depth);
  Result<std::uint32_t> parse_atom(bool ignores_case, int depth);
  Result<std::uint32_t> parse_group(bool ignores_case, int depth);
  Result<std::uint32_t> parse_look_ahead(Kind kind, bool ignores_case, int depth);
  Result<std::uint32_t> parse_quantifier(std::uint32_t atom);
  Result<PatternNode> parse_counts(std::uint32_t atom);
  /// Repeats `node` as `repeat` says, without giving characters back: X*+ is X* with no X next.
  Result<std::uint32_t> make_possessive(PatternNode repeat);
  Result<std::uint32_t> parse_number();

  Result<CodePointSet> parse_class(bool ignores_case, int depth);
  Result<CodePointSet> parse_class_items(bool ignores_case, int depth);
  /// Parses one member of a class: a set, or a single character, which may begin a range.
  Result<CodePointSet> parse_class_item(bool ignores_case, int depth);
  /// Parses the escape behind a backslash.
  Result<CodePointSet> parse_escape();
  Result<CodePointSet> parse_property(bool is_negated);
  Result<std::uint32_t> parse_hex(std::size_t max_digits);
  /// The one character of a set; no value if the set has another size.
  static std::optional<std::uint32_t> only_member(const CodePointSet& set);

  bool at_end() const { return place_ == text_.size(); }
  bool takes(std::string_view expected);
  Result<std::uint32_t> take_character();
  std::uint32_t add(PatternNode node);
  std::uint32_t add_set(CodePointSet set, Kind kind = Kind::kSet);
  /// Whether the node reads nothing and asks nothing: a sequence without children.
  bool is_nothing(std::uint32_t node) const;
  static CodePointSet with_both_cases(CodePointSet set);
  std::unexpected<Error> refuse(std::string_view found) const;

  std::string_view text_;
  std::size_t place_ = 0;
  Pattern pattern_;
};

}  // namespace octavo
