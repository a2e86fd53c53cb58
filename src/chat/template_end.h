// The token with which a chat template ends an answer, for files that name none.
//
// Free function, any thread.
#pragma once

#include <optional>

#include "chat/chat_template.h"
#include "tokenizer/special_tokens.h"
#include "tokenizer/vocab.h"

namespace octavo {

/// The token that a template writes behind what an assistant has said, found by rendering a conversation with an
/// answer in it. Nothing where it writes none, where it refuses the conversation, or where one of the tokens that it
/// writes there is known to end an answer.
std::optional<TokenId> end_by_template(const ChatTemplate& chat_template, const NamedTokens& tokens,
                                       const SpecialTokens& special, const Vocab& vocab);

}  // namespace octavo
