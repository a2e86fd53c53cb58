// Regular expressions as expressions of a grammar, in the syntax of ECMA-262 with the flag u, as JSON Schema has them.
//
// Taken: alternatives, groups (captured, named or not), classes, escapes, \p{} of general categories, the quantifiers,
// lazy or not, ^ and $ at the ends of the text, and look-around there (look_around.h). Refused by name: other
// look-around, back-references, \b and \B, inline flags, and ^ or $ with something before or behind. \d and \w are
// ASCII, . leaves out line ends.
//
// Free functions; any thread.
#pragma once

#include <functional>
#include <string_view>

#include "base/error.h"
#include "constraint/grammar/compile_work.h"
#include "constraint/grammar/grammar.h"
#include "tokenizer/text/regex_parser.h"

namespace octavo {

/// Writes one character of a set as it stands in the text.
using CharacterWriter = std::function<ExpressionId(Grammar&, const CodePointSet&)>;

enum class RegexReach : std::uint8_t {
  kWhole,      // all of the text matches
  kSomewhere,  // a part of the text matches, as in JSON Schema's `pattern`
};

/// Reads a pattern into a tree. Errors name the place in the pattern and the finding; or the work ends.
Result<RegexNode> parse_ecma_regex(std::string_view pattern, CompileWork& work);

/// Reads a pattern. Errors name the place in the pattern, the finding, and the syntax that is taken.
Result<ExpressionId> read_regex(std::string_view pattern, RegexReach reach, const CharacterWriter& write,
                                Grammar& grammar);
/// Reads a pattern of a text that is written as it is.
Result<ExpressionId> read_regex(std::string_view pattern, RegexReach reach, Grammar& grammar);

}  // namespace octavo
