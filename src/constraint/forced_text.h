// Text that a constraint leaves no choice about, and the tokens that it is written in.
//
// A name of a property, a choice that is the only one left: where a single byte can follow, again and again, many rows
// of tokens spell the same. A model was trained on one of them, its tokenizer's. Others are drawn by chance alone, and
// what follows them suffers, so that the tokenizer's are the only ones allowed. The last of them are left open where
// they could become a longer token with what may follow.
//
// Free function; the thread that follows the constraint.
#pragma once

#include <optional>
#include <vector>

#include "constraint/compiled_constraint.h"
#include "constraint/configurations.h"

namespace octavo {

/// Bytes of forced text that are looked at.
inline constexpr std::size_t kMaxForcedBytes = 256;

/// The tokens that must follow where a text has come to `set`, behind the token `previous`; none: there is a choice, or
/// the tokenizer would write the text in no row of tokens of its own.
std::vector<TokenId> forced_tokens(const CompiledConstraint& constraint, CallStacks& stacks,
                                   const ConfigurationSet& set, std::optional<TokenId> previous);

}  // namespace octavo
