// Reads a regular expression (regex.h) by recursive descent into a tree. One thread uses a parser.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "constraint/grammar/compile_work.h"
#include "constraint/grammar/grammar.h"
#include "constraint/regex/regex.h"

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
  RegexParser(std::string_view text, CompileWork& work) : text_(text), work_(work) {}

  Result<RegexNode> parse();

 private:
  using Kind = RegexNode::Kind;

  /// A character of the set. Error: the pattern's sets have too many ranges, or the work ends.
  Result<RegexNode> node_of(CodePointSet set);
  Result<void> count_ranges(const CodePointSet& set);
  Result<RegexNode> parse_alternatives(int depth);
  Result<RegexNode> parse_sequence(int depth);
  Result<RegexNode> parse_atom(int depth);
  Result<RegexNode> parse_group(int depth);
  Result<RegexNode> parse_quantifier(RegexNode atom);
  /// {m}, {m,} or {m,n}, without a child yet; no value: the brace is a character.
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
  CompileWork& work_;
  std::size_t place_ = 0;
  std::size_t num_ranges_ = 0;
  std::map<std::string, std::optional<CodePointSet>, std::less<>> categories_;  // those that were looked up
};

}  // namespace octavo
