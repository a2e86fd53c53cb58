// Patterns that cut text: those that `tokenizers` writes into tokenizer.json, in Oniguruma's syntax.
//
// A pattern is a regular expression whose assertions look at one character at most: alternatives, groups, the three
// quantifiers and {m,n}, classes with ranges, properties, nesting and &&, (?i:) for ASCII, (?=x), (?!x) and $. So an
// automaton runs it in one pass (word_automaton.h). X+(?!X) at the end is X+, whatever X is. Everything else is refused
// by name.
// A free function; any thread.
#pragma once

#include <string_view>

#include "tokenizer/text/regex_parser.h"

namespace octavo {

/// Longer patterns are refused, and so are patterns of one pre-tokenizer that are longer together.
inline constexpr std::size_t kMaxPatternBytes = 16384;

/// Errors name the place in the pattern, and the finding.
inline Result<RegexNode> parse_pattern(std::string_view text) {
  return parse_regex(text, {.dialect = RegexDialect::kOniguruma, .max_bytes = kMaxPatternBytes, .max_depth = 32});
}

}  // namespace octavo
