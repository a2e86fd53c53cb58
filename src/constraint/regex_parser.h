// Reads a regular expression (regex.h) by recursive descent into a tree. Used by read_regex() alone.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "constraint/grammar.h"
#include "constraint/regex.h"

namespace octavo {

struct RegexNode {
  enum class Kind : std::uint8_t { kSet, kSequence, kAlternatives, kRepeat, kBegin, kEnd };
  Kind kind = Kind::kSequence;
  CodePointSet set = {};
  std::uint32_t min = 0, max = 0;
  std::vector<RegexNode> children = {};
};

class RegexParser {
 public:
  explicit RegexParser(std::string_view text) : text_(text) {}

  Result<RegexNode> parse();

 private:
  using Kind = RegexNode::Kind;

  Result<RegexNode> parse_alternatives(int depth);
  Result<RegexNode> parse_sequence(int depth);
  Result<RegexNode> parse_atom(int depth);
  Result<RegexNode> parse_group(int depth);
  Result<RegexNode> parse_quantifier(RegexNode atom);
  /// {m}, {m,} or {m,n}, of nothing yet; no value: the brace is a character.
  Result<std::optional<RegexNode>> parse_counts();

  Result<CodePointSet> parse_class();
  Result<CodePointSet> parse_class_item();
  Result<CodePointSet> parse_escape(bool in_class);
  Result<CodePointSet> parse_property(bool is_negated);
  Result<std::uint32_t> parse_code_point(char letter);
  Result<std::uint32_t> parse_hex(std::size_t num_digits);
  Result<std::uint32_t> parse_low_surrogate(std::uint32_t high);
  std::optional<std::uint32_t> take_number();
  std::uint32_t take_character();

  bool at_end() const { return place_ == text_.size(); }
  bool takes(std::string_view expected);
  std::unexpected<Error> refuse(std::string_view found) const;

  std::string_view text_;
  std::size_t place_ = 0;
};

}  // namespace octavo
