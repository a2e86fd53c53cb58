// Reads a regular expression into a tree, by recursive descent, in one of two dialects. The users of the tree document
// their dialects: patterns that cut text (tokenizer/pretokenize/pattern.h), and patterns of constrained answers
// (constraint/regex/regex.h). Everything else is refused by name.
//
// Plain values and a free function; any thread.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "tokenizer/text/code_point_set.h"

namespace octavo {

enum class RegexDialect : std::uint8_t {
  kOniguruma,  // as `tokenizers` writes patterns into tokenizer.json; look-ahead at one character
  kEcma,       // ECMA-262 with the flag u, as JSON Schema has them; without look-around
};

struct RegexNode {
  enum class Kind : std::uint8_t {
    kSet,           // one character of `set`
    kSequence,      // the children in a row; without any it reads nothing, and is no child of a sequence or a repeat
    kAlternatives,  // the children, the preferred one first
    kRepeat,        // the only child, `min` to `max` times
    kBegin,         // the text begins
    kEnd,           // the text ends; in Oniguruma's dialect also where the next character is in `set`, a line feed
    kNext,          // the next character is in `set`
    kNotNext,       // the next character is not in `set`, or there is none
  };
  static constexpr std::uint32_t kAnyNumber = 0xFFFFFFFF;

  Kind kind = Kind::kSequence;
  CodePointSet set = {};
  std::uint32_t min = 0, max = 0;
  bool is_lazy = false;  // whether fewer times are preferred
  std::vector<RegexNode> children = {};

  bool is_nothing() const { return kind == Kind::kSequence && children.empty(); }
};

/// The most ranges of characters in all sets of a pattern.
inline constexpr std::size_t kMaxRegexRanges = 1 << 20;

struct RegexRules {
  RegexDialect dialect;
  std::size_t max_bytes;
  int max_depth;  // the deepest nesting of groups, and of classes
  /// Counts the steps of parsing; an error of it ends the parsing. Empty: nobody counts.
  std::function<Result<void>(std::uint64_t num_steps)> count = {};
};

/// Parses a pattern. Errors name the place in the pattern, the finding and, where it helps, the supported syntax.
Result<RegexNode> parse_regex(std::string_view text, const RegexRules& rules);

}  // namespace octavo
