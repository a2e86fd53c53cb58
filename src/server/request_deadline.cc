#include "server/request_deadline.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <chrono>

#include "api/answers/openai_finish.h"
#include "base/error.h"

namespace octavo::server {
namespace {

constexpr std::string_view kDeadlineHeader = "X-Request-Timeout";
constexpr std::string_view kFirstTokenHeader = "x-llm-d-slo-ttft-ms", kNextTokenHeader = "x-llm-d-slo-tpot-ms";
constexpr double kMaxDeadlineS = 1e6, kMaxDeadlineMs = 1e9;

/// The number above 0 that a header has; 0: it is not there.
ApiResult<double> time_in(const HttpRequest& request, std::string_view name, std::string_view unit, double max) {
  const auto header = request.find(boost::beast::string_view(name.data(), name.size()));
  if (header == request.end()) return 0.0;
  const std::string_view text(header->value().data(), header->value().size());
  double time = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), time);
  if (error != std::errc() || end != text.data() + text.size() || !(time > 0) || time > max)
    return std::unexpected(ApiError{.status = 400,
                                    .message = fmt::format("{}: found '{}', expected {} above 0", name, text, unit),
                                    .param = std::string(name)});
  return time;
}

}  // namespace

ApiResult<double> deadline_of(const HttpRequest& request) {
  return time_in(request, kDeadlineHeader, "seconds", kMaxDeadlineS);
}

ApiResult<AskedPace> asked_pace(const HttpRequest& request) {
  OCTAVO_TRY(const double first, time_in(request, kFirstTokenHeader, "milliseconds", kMaxDeadlineMs));
  OCTAVO_TRY(const double next, time_in(request, kNextTokenHeader, "milliseconds", kMaxDeadlineMs));
  return AskedPace{.first_token_s = first / 1000, .next_token_s = next / 1000};
}

void AskedPace::shorten(Request& request) const {
  if (first_token_s == 0 || next_token_s == 0 || request.deadline_s == 0 || request.max_tokens <= 0) return;
  request.deadline_s = std::min(request.deadline_s, first_token_s + (next_token_s * (request.max_tokens - 1)));
}

Clock::time_point time_after(Clock::time_point begin, double seconds) {
  return begin + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
}

ApiError deadline_over() { return *error_of(FinishReason::kDeadline); }

}  // namespace octavo::server
