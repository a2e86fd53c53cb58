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

/// The type and the code of the error of a prompt without room: programs of llama.cpp look for the one, those of OpenAI
/// for the other.
inline constexpr std::string_view kContextFullType = "exceed_context_size_error";
inline constexpr std::string_view kContextFullCode = "context_length_exceeded";

/// The numbers of a prompt that has no room (context_full.h).
struct ContextFull {
  std::int64_t prompt_tokens = 0;
  std::int64_t context = 0;
  bool is_counted = true;  // to its end; else it has more tokens, or just as many
};

struct ApiError {
  int status = 500;                            // HTTP
  std::string message = {};                    // says what was found and expected
  std::string type = "invalid_request_error";  // or authentication_error, server_error, ...
  std::string param = {};                      // the field of the request; empty: null in the JSON
  std::string code = {};                       // such as context_length_exceeded; empty: null in the JSON
  int retry_after_s = 0;                       // 0: no Retry-After header
  std::optional<ContextFull> context_full = {};
};

template <class T>
using ApiResult = std::expected<T, ApiError>;

/// An engine's error in these terms: kContextOverflow is 400 context_length_exceeded, kQueueFull 429, kDraining 503
/// (both with Retry-After), kOutOfMemory 503, all else 400.
ApiError to_api_error(const Error& error);
/// A 400 about a field, or about the body.
ApiError to_api_error(JsonError error);

/// 400s about one field, with the codes that OpenAI uses.
ApiError invalid_value(std::string param, std::string message);
ApiError unsupported(std::string param, std::string message);

/// A cursor's error for `return` in a function that gives an ApiResult.
inline std::unexpected<ApiError> refused(JsonError error) { return std::unexpected(to_api_error(std::move(error))); }
/// The value that a cursor has read, or its error as an ApiError.
template <class T>
ApiResult<T> to_api_result(JsonResult<T> read) {
  if (read) return std::move(*read);
  return refused(std::move(read.error()));
}

/// 503, to be tried again.
ApiError unavailable(std::string message, std::string code);
/// The 503 of a server that takes no more requests.
ApiError shutting_down();
/// The 503 of a server whose engine has ended with an exception.
ApiError engine_failed();

/// {"error": {"message", "type", "param", "code"}}; where the context is full, with llama.cpp's "n_prompt_tokens" and
/// "n_ctx" in the object.
std::string error_body(const ApiError& error);

}  // namespace octavo
