// Patterns that cut text, as a tree: those that `tokenizers` writes into tokenizer.json, in Oniguruma's syntax.
//
// A pattern is a regular expression whose assertions look at one character at most: alternatives, groups, the three
// quantifiers and {m,n}, classes with ranges, properties, nesting and &&, (?i:) for ASCII, (?=x), (?!x) and $. So an
// automaton runs it in one pass (word_automaton.h). Everything else is refused by name.
// Plain values; any thread.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "tokenizer/text/code_point_set.h"

namespace octavo {

struct PatternNode {
  enum class Kind : std::uint8_t {
    kSet,           // one character of `set`
    kSequence,      // the children in a row; without any it reads nothing, and is no child of a sequence or a repeat
    kAlternatives,  // the first child that fits
    kRepeat,        // the only child, `min` to `max` times
    kNext,          // the next character is in `set`
    kNotNext,       // the next character is not in `set`, or there is none
    kLineEnd,       // the next character is in `set` (a line feed), or there is none
  };
  static constexpr std::uint32_t kAnyNumber = 0xFFFFFFFF;

  Kind kind;
  std::uint32_t set = 0;  // in Pattern::sets
  std::vector<std::uint32_t> children{};
  std::uint32_t min = 0, max = 0;
  bool is_lazy = false;  // prefers fewer
};

struct Pattern {
  std::vector<PatternNode> nodes;
  std::vector<CodePointSet> sets;
  std::uint32_t root = 0;

  /// Longer and deeper patterns are refused; so are patterns of one pre-tokenizer that are longer
  /// together.
  static constexpr std::size_t kMaxBytes = 16384;
  static constexpr int kMaxDepth = 32;
  static constexpr std::uint32_t kMaxRepeat = 1000;

  /// Errors name the place in the pattern, the finding, and the possible syntax.
  static Result<Pattern> parse(std::string_view text);
};

}  // namespace octavo
