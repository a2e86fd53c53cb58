#include "api/buffered_answer.h"

#include <fmt/format.h>

#include "api/answer_size.h"

namespace octavo {

void BufferedAnswer::set(std::uint64_t bytes) {
  if (budget_ != nullptr) budget_->bytes_.fetch_add(bytes - bytes_, std::memory_order_relaxed);
  bytes_ = bytes;
}

std::optional<ApiError> BufferedAnswer::hold(std::uint64_t bytes) {
  std::optional<ApiError> too_many = hold_own(bytes);
  if (bytes <= budget_->limits().answer_bytes) return too_many;
  return answer_too_large(bytes, budget_->limits().answer_bytes);
}

std::optional<ApiError> BufferedAnswer::hold_own(std::uint64_t bytes) {
  const bool grows = bytes > bytes_;
  set(bytes);
  const std::uint64_t all = budget_->bytes();
  if (!grows || all <= budget_->limits().all_bytes) return std::nullopt;
  return ApiError{.status = 503,
                  .message = fmt::format("answers that are made or written take {} bytes, and this server holds at "
                                         "most {}: ask for a stream, or later",
                                         all, budget_->limits().all_bytes),
                  .type = "server_error",
                  .code = "out_of_memory",
                  .retry_after_s = 1};
}

}  // namespace octavo
