// The tokens that end an answer: which, and why.
//
// Free functions, any thread.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "source/model_source.h"
#include "tokenizer/chat_template.h"
#include "tokenizer/special_tokens.h"
#include "tokenizer/vocab.h"

namespace octavo {

/// The token that a template writes behind what an assistant has said, found by rendering a conversation with an
/// answer in it. Nothing where it writes none, where it refuses the conversation, or where one of the tokens that it
/// writes there is known to end an answer.
std::optional<TokenId> end_by_template(const ChatTemplate& chat_template, const NamedTokens& tokens,
                                       const SpecialTokens& special, const Vocab& vocab);

/// All tokens that end an answer, ascending, each with the key of the file, or the table, that says so.
std::vector<EndToken> list_end_tokens(const ModelSource& source, const Vocab& vocab,
                                      std::optional<TokenId> by_template);

}  // namespace octavo
