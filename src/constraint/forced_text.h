// Finds the text about which a constraint leaves no choice, and the tokens that spell it.
//
// Often one byte alone can follow, again and again, as in a property's name or in the only choice that is left. Many
// rows of tokens spell such a text. A model was trained on the tokenizer's row; other rows are drawn by chance alone,
// and the tokens behind them suffer. So only the tokenizer's tokens are allowed. The last of these are left open where
// they could become a longer token with the text that may follow.
//
// A free function, for the thread that follows the constraint.
#pragma once

#include <optional>
#include <vector>

#include "constraint/automaton/configurations.h"
#include "constraint/compiled_constraint.h"

namespace octavo {

/// The most bytes of forced text that are looked at.
inline constexpr std::size_t kMaxForcedBytes = 256;

/// The tokens that must follow where a text has come to `set`, behind the token `previous`. None: there is a choice, or
/// the tokenizer would join the forced text with other text.
std::vector<TokenId> forced_tokens(const CompiledConstraint& constraint, CallStacks& stacks,
                                   const ConfigurationSet& set, std::optional<TokenId> previous);

}  // namespace octavo
