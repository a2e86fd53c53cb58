// How long an answer may get: limits of tokens as clients write them, and what the context leaves of them.
//
// An upper bound can always be kept. So one beyond the context is cut to what is left behind the prompt, which a
// warning says: clients send the same limit to every model. Only a prompt, and a least number of tokens, can have no
// room.
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
  std::optional<std::int64_t> asked = {};  // by the client; 0: nothing is generated
  std::string field = "max_tokens";        // the name that the client used
  int otherwise = 0;                       // if the client sets no limit; 0: until the end of the context
};

/// Names that clients have for the limit: max_completion_tokens is the newer one of max_tokens, n_predict llama.cpp's.
inline constexpr std::array<std::string_view, 3> kLengthNames = {"max_tokens", "max_completion_tokens", "n_predict"};

/// Request::max_tokens behind a prompt of so many tokens. Errors: the prompt has no room, in OpenAI's words; the answer
/// cannot have the tokens that it must; several answers where nothing is generated. `param`: the prompt's field.
ApiResult<void> set_length(Request& request, std::size_t prompt_tokens, const AnswerLength& length, int context,
                           const std::string& param);

/// The warning of a limit beyond the context; `max_tokens`: the limit that was made of it, at the least.
std::optional<std::string> cut_warning(const AnswerLength& length, int max_tokens, int context);

}  // namespace octavo
