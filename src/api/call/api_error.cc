#include "api/call/api_error.h"

#include <boost/json.hpp>

#include "base/utf8.h"

namespace octavo {
namespace {

constexpr int kRetryAfterS = 1;

boost::json::value text_or_null(const std::string& text) {
  if (text.empty()) return nullptr;
  return boost::json::value(to_valid_utf8(text));
}

}  // namespace

ApiError to_api_error(const Error& error) {
  switch (error.kind) {
    case ErrorKind::kContextOverflow:
      return {.status = 400,
              .message = error.message,
              .type = std::string(kContextFullType),
              .code = std::string(kContextFullCode)};
    case ErrorKind::kQueueFull:
      return {.status = 429,
              .message = error.message,
              .type = "rate_limit_error",
              .code = "queue_full",
              .retry_after_s = kRetryAfterS};
    case ErrorKind::kDraining: return unavailable(error.message, "shutting_down");
    case ErrorKind::kOutOfMemory: return unavailable(error.message, "out_of_memory");
    case ErrorKind::kInvalidPicture: return {.status = 400, .message = error.message, .code = "invalid_image"};
    case ErrorKind::kPictureTooLarge: return {.status = 400, .message = error.message, .code = "image_too_large"};
    case ErrorKind::kNoWords:
    case ErrorKind::kOutOfBlocks:
    case ErrorKind::kStopped:
    case ErrorKind::kOther: break;
  }
  return {.status = 400, .message = error.message};
}

ApiError to_api_error(JsonError error) {
  return {.status = 400,
          .message = std::move(error.message),
          .param = std::move(error.path),
          .code = std::string(error.code)};
}

ApiError invalid_value(std::string param, std::string message) {
  return {.status = 400, .message = std::move(message), .param = std::move(param), .code = "invalid_value"};
}

ApiError unsupported(std::string param, std::string message) {
  return {.status = 400, .message = std::move(message), .param = std::move(param), .code = "unsupported_parameter"};
}

ApiError unavailable(std::string message, std::string code) {
  return {.status = 503,
          .message = std::move(message),
          .type = "server_error",
          .code = std::move(code),
          .retry_after_s = kRetryAfterS};
}

ApiError shutting_down() { return unavailable("the server is shutting down", "shutting_down"); }

ApiError engine_failed() { return unavailable("the engine has failed, and the server is going down", "engine_failed"); }

std::string error_body(const ApiError& error) {
  boost::json::object told = {{"message", to_valid_utf8(error.message)},
                              {"type", error.type},
                              {"param", text_or_null(error.param)},
                              {"code", text_or_null(error.code)}};
  if (error.context_full) {
    told["n_prompt_tokens"] = error.context_full->prompt_tokens;
    told["n_ctx"] = error.context_full->context;
  }
  return boost::json::serialize(boost::json::object{{"error", std::move(told)}});
}

}  // namespace octavo
