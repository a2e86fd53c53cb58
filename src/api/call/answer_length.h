// How long an answer may get: limits of tokens as clients write them, and what the context leaves of them.
//
// An upper limit can always be kept: one beyond the context is cut to what is left after the prompt, and a warning
// says so, since clients send the same limit to every model. Only a prompt, or a least number of tokens, can be refused
// for want of room.
//
// Free functions without state; any thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "api/call/api_error.h"
#include "octavo/model_text.h"
#include "octavo/request.h"

namespace octavo {

/// The length that an answer may get.
struct AnswerLength {
  std::optional<std::int64_t> asked = {};  // the client's limit; 0: nothing is generated
  std::string field = "max_tokens";        // the name that the client used
  int otherwise = 0;                       // the limit where the client sets none; 0: the end of the context
};

/// The names of the limit: max_tokens and the newer max_completion_tokens are OpenAI's, n_predict is llama.cpp's.
inline constexpr std::array<std::string_view, 3> kLengthNames = {"max_tokens", "max_completion_tokens", "n_predict"};

/// Sets Request::max_tokens for a prompt of `prompt_tokens`. Errors: the prompt has no room, in OpenAI's words; nor has
/// the least length of the answer; several answers where nothing is generated. `param`: the prompt's field.
ApiResult<void> set_length(Request& request, std::size_t prompt_tokens, const AnswerLength& length, int context,
                           const std::string& param);

/// The warning for a limit beyond the context. `max_tokens`: the shortest limit of an answer that was made of it.
std::optional<std::string> cut_warning(const AnswerLength& length, int max_tokens, int context);

}  // namespace octavo
