// The token with which a chat template ends an answer, for files that name none.
//
// Free function, any thread.
#pragma once

#include <optional>

#include "chat/chat_template.h"
#include "tokenizer/words/special_tokens.h"
#include "tokenizer/words/vocab.h"

namespace octavo {

/// The token that a template writes behind an assistant's text, found by rendering a conversation with an answer
/// in it. None: it writes no token, refuses the conversation, or writes a token there that is known to end an
/// answer.
std::optional<TokenId> end_by_template(const ChatTemplate& chat_template, const NamedTokens& tokens,
                                       const SpecialTokens& special, const Vocab& vocab);

}  // namespace octavo
