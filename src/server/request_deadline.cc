#include "server/request_deadline.h"

#include <fmt/format.h>

#include <charconv>
#include <chrono>

#include "api/answers/openai_finish.h"

namespace octavo::server {
namespace {

constexpr std::string_view kDeadlineHeader = "X-Request-Timeout";
constexpr double kMaxDeadlineS = 1e6;

}  // namespace

ApiResult<double> deadline_of(const HttpRequest& request) {
  const auto header = request.find(kDeadlineHeader);
  if (header == request.end()) return 0.0;
  const std::string_view text(header->value().data(), header->value().size());
  double seconds = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), seconds);
  if (error != std::errc() || end != text.data() + text.size() || !(seconds > 0) || seconds > kMaxDeadlineS)
    return std::unexpected(
        ApiError{.status = 400,
                 .message = fmt::format("{}: found '{}', expected seconds above 0", kDeadlineHeader, text),
                 .param = std::string(kDeadlineHeader)});
  return seconds;
}

Clock::time_point time_after(Clock::time_point begin, double seconds) {
  return begin + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
}

ApiError deadline_over() { return *error_of(FinishReason::kDeadline); }

}  // namespace octavo::server
