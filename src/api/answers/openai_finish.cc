#include "api/answers/openai_finish.h"

namespace octavo {

std::string_view finish_name(FinishReason finish) { return finish == FinishReason::kStop ? "stop" : "length"; }

std::optional<ApiError> error_of(FinishReason finish, const RequestStats& stats) {
  switch (finish) {
    case FinishReason::kDeadline:
      return ApiError{.status = 408,
                      .message = "The request did not end before its deadline.",
                      .type = "timeout_error",
                      .code = "deadline_exceeded"};
    case FinishReason::kCancelled:
      return ApiError{.status = 503,
                      .message = "The server ended the request before its answer was complete.",
                      .type = "server_error",
                      .code = "cancelled",
                      .retry_after_s = 1};
    case FinishReason::kFailed:
      return ApiError{.status = 500,
                      .message = stats.error.empty()
                                     ? "The server had no memory left for the request, or the model's numbers for "
                                       "it are not finite."
                                     : "The request cannot be computed: " + stats.error + ".",
                      .type = "server_error",
                      .code = "internal_error"};
    case FinishReason::kNotFinite:
      return ApiError{.status = 500,
                      .message = "The model's numbers for the request are not finite.",
                      .type = "server_error",
                      .code = "not_finite"};
    case FinishReason::kConstraint:
      return ApiError{.status = 400,
                      .message = "The answer cannot be held to its constraint: " + stats.error + ".",
                      .code = "constraint_too_complex"};
    case FinishReason::kNotPinned:
      return ApiError{
          .status = 507, .message = "The prompt cannot be pinned: " + stats.error + ".", .code = "not_pinned"};
    default: return std::nullopt;
  }
}

}  // namespace octavo
