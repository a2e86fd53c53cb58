// An error as OpenAI's interface tells it: an HTTP status and the fields of the error object.
#pragma once

#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "json/json_error.h"
#include "octavo/result.h"

namespace octavo {

/// The type and the code of the error of a prompt without room in the context: programs written for llama.cpp look for
/// the type, those for OpenAI for the code.
inline constexpr std::string_view kContextFullType = "exceed_context_size_error";
inline constexpr std::string_view kContextFullCode = "context_length_exceeded";

/// The numbers of a prompt that has no room (context_full.h).
struct ContextFull {
  std::int64_t prompt_tokens = 0;
  std::int64_t context = 0;
  bool is_counted = true;  // all the prompt's tokens were counted; else it has at least so many
};

struct ApiError {
  int status = 500;                            // the HTTP status
  std::string message = {};                    // says what was found and expected
  std::string type = "invalid_request_error";  // or authentication_error, server_error, ...
  std::string param = {};                      // the field of the request; empty: null in the JSON
  std::string code = {};                       // such as context_length_exceeded; empty: null in the JSON
  int retry_after_s = 0;                       // 0: no Retry-After header
  std::optional<ContextFull> context_full = {};
};

template <class T>
using ApiResult = std::expected<T, ApiError>;

/// The API's error for one of the engine: kContextOverflow becomes 400 context_length_exceeded, kQueueFull 429 and
/// kDraining 503 (both with Retry-After), kOutOfMemory 503, all others 400.
ApiError to_api_error(const Error& error);
/// The error (400) of a field, or of the body.
ApiError to_api_error(JsonError error);

/// Errors (400) of one field, with the codes that OpenAI uses.
ApiError invalid_value(std::string param, std::string message);
ApiError unsupported(std::string param, std::string message);

/// A cursor's error, for `return` in a function that gives an ApiResult.
inline std::unexpected<ApiError> refused(JsonError error) { return std::unexpected(to_api_error(std::move(error))); }
/// The value that a cursor has read, or its error as an ApiError.
template <class T>
ApiResult<T> to_api_result(JsonResult<T> read) {
  if (read) return std::move(*read);
  return refused(std::move(read.error()));
}

/// The error (503) of what may be tried again later.
ApiError unavailable(std::string message, std::string code);
/// The error (503) of a server that takes no more requests.
ApiError shutting_down();
/// The error (503) of a server whose engine has ended with an exception.
ApiError engine_failed();

/// {"error": {"message", "type", "param", "code"}}; for a full context the object has llama.cpp's "n_prompt_tokens" and
/// "n_ctx", too.
std::string error_body(const ApiError& error);

}  // namespace octavo
