// The tokens of a conversation's prompt alone.
#pragma once

#include "base/error.h"
#include "chat/chat_tokenizer.h"

namespace octavo::test {

inline Result<std::vector<TokenId>> prompt_tokens(const ChatTokenizer& chat, std::span<const ChatMessage> messages,
                                                  const ChatTemplateOptions& options = {}) {
  OCTAVO_TRY(ChatPrompt prompt, chat.chat_prompt(messages, options));
  return std::move(prompt.tokens);
}

}  // namespace octavo::test
