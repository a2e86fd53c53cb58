// Grammars in GBNF, as llama.cpp writes them: rules `name ::= ...` of literals, character classes, groups,
// alternatives, the quantifiers * + ? {m} {m,} {m,n}, and tokens of the vocabulary as <text> or <[id]>. The rule `root`
// is where a text begins.
//
// Free functions; any thread.
#pragma once

#include <functional>
#include <optional>
#include <string_view>

#include "base/error.h"
#include "constraint/grammar/grammar.h"

namespace octavo {

inline constexpr std::size_t kMaxGbnfBytes = 1 << 20;
inline constexpr int kMaxGbnfDepth = 200;

/// The tokens that a grammar may name.
struct TokenNames {
  std::size_t num_tokens = 0;
  /// The token of a text such as "<think>"; none: the vocabulary lacks it.
  std::function<std::optional<TokenId>(std::string_view text)> find = [](std::string_view) { return std::nullopt; };
};

/// Reads a text into an empty grammar. Errors name the line, the finding and the expectation; Automaton::build()
/// reports rules that are not defined.
Result<Grammar> read_gbnf(std::string_view text, const TokenNames& tokens, Grammar grammar = Grammar());

}  // namespace octavo
