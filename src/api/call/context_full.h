// The error of a prompt that has no room in the context, in the words of each server whose API is spoken here: programs
// look for these words to know that they must shorten a conversation.
//
// Free functions without state; any thread.
#pragma once

#include <string>
#include <string_view>

#include "api/call/api_error.h"

namespace octavo {

/// The most tokens to which a text without room in the context is counted, unless the context holds more.
inline constexpr std::size_t kMaxCountedTokens = std::size_t{1} << 18;

/// The error (400) of such a prompt, in the words of OpenAI and llama.cpp. `field`: the prompt's. `more`: text to add
/// behind the number of tokens.
ApiError context_overflow(const ContextFull& full, std::string_view field, std::string_view more = {});

/// The error's message in the words of another server; the message itself where the error is about something else.
std::string anthropic_message(const ApiError& error);
std::string ollama_message(const ApiError& error);
std::string cohere_message(const ApiError& error);
std::string tei_message(const ApiError& error);

}  // namespace octavo
