// A prompt that the context has no room for, in the words of each server whose API is spoken here: programs look for
// them, and shorten their conversations when they find them.
//
// Free functions without state; any thread.
#pragma once

#include <string>
#include <string_view>

#include "api/call/api_error.h"

namespace octavo {

/// The most tokens that are counted of a text for which the context has no room, unless the context holds more.
inline constexpr std::size_t kMaxCountedTokens = std::size_t{1} << 18;

/// The 400 of such a prompt, in OpenAI's words and llama.cpp's. `field`: the prompt's. `more`: what else there is to
/// say behind the number of its tokens.
ApiError context_overflow(const ContextFull& full, std::string_view field, std::string_view more = {});

/// The message of an error as another server writes it; one about anything else is as it is.
std::string anthropic_message(const ApiError& error);
std::string ollama_message(const ApiError& error);
std::string cohere_message(const ApiError& error);
std::string tei_message(const ApiError& error);

}  // namespace octavo
