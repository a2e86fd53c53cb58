#include "api/call/context_full.h"

#include <fmt/format.h>

#include <algorithm>

namespace octavo {
namespace {

/// The most tokens that the prompt could have had: one that fills the context would leave no room for an answer.
std::int64_t room_of(const ContextFull& full) { return std::min(full.context, full.prompt_tokens - 1); }

/// The end of a message about a text that was not counted to its end.
std::string_view counted(const ContextFull& full) {
  return full.is_counted ? "" : " There may be more tokens: they were counted up to here.";
}

}  // namespace

ApiError context_overflow(const ContextFull& full, std::string_view field, std::string_view more) {
  return {.status = 400,
          .message = fmt::format("This model's maximum context length is {} tokens. However, your {} resulted in {} "
                                 "tokens{}. Please reduce the length of the {}. The request ({} tokens) exceeds the "
                                 "available context size ({} tokens).{}",
                                 full.context, field, full.prompt_tokens, more, field, full.prompt_tokens, full.context,
                                 counted(full)),
          .type = std::string(kContextFullType),
          .param = std::string(field),
          .code = std::string(kContextFullCode),
          .context_full = full};
}

std::string anthropic_message(const ApiError& error) {
  if (!error.context_full) return error.message;
  const ContextFull& full = *error.context_full;
  return fmt::format("prompt is too long: {} tokens > {} maximum{}", full.prompt_tokens, room_of(full),
                     full.is_counted ? "" : ", or more: they were counted up to here");
}

std::string ollama_message(const ApiError& error) {
  if (!error.context_full) return error.message;
  const ContextFull& full = *error.context_full;
  const std::int64_t room = room_of(full);
  return fmt::format(
      "the input length exceeds the context length: prompt too long; exceeded max context length by {} "
      "tokens ({} of {}).{}",
      full.prompt_tokens - room, full.prompt_tokens, room, counted(full));
}

std::string cohere_message(const ApiError& error) {
  if (!error.context_full) return error.message;
  const ContextFull& full = *error.context_full;
  return fmt::format("too many tokens: size limit exceeded by {} tokens. Found {} in {}, expected at most {}.{}",
                     full.prompt_tokens - room_of(full), full.prompt_tokens, error.param, room_of(full), counted(full));
}

std::string tei_message(const ApiError& error) {
  if (!error.context_full) return error.message;
  const ContextFull& full = *error.context_full;
  return fmt::format("Input validation error: `{}` must have less than {} tokens. Given: {}.{}", error.param,
                     full.context + 1, full.prompt_tokens, counted(full));
}

}  // namespace octavo
