#include "server/queue_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <string>

#include "api/call/api_error.h"
#include "api/call/vector_call.h"

namespace octavo::server {
namespace {

/// Checks requests that wait a few at a time: each alone must have room.
ApiResult<void> check_texts(const CompletionCall& call, const ServerOptions& options) {
  const QueueBound tokens = options.queued_tokens();
  for (const Request& request : call.requests) {
    const auto count = static_cast<std::int64_t>(request.tokens.size());
    if (!tokens.has_room(0, count) || !tokens.is_fair(0, 0, count))
      return std::unexpected(
          invalid_value(std::string(call.vectors->field),
                        fmt::format("{}: found a text of {} tokens, expected at most {}: so many may wait",
                                    call.vectors->field, count, tokens.most)));
  }
  return {};
}

}  // namespace

ApiResult<void> check_queue(const CompletionCall& call, const ServerOptions& options) {
  if (call.vectors) return check_texts(call, options);
  const QueueBound requests = options.queued_requests(), tokens = options.queued_tokens();
  std::int64_t held = 0;
  for (std::size_t i = 0; i < call.requests.size(); ++i) {
    const auto before = static_cast<std::int64_t>(i);
    if (!requests.has_room(before, 1) || !requests.is_fair(before, before, 1)) {
      return std::unexpected(invalid_value(
          "prompt",
          fmt::format("prompt: found {} prompts, expected at most {}: so many requests of one client may wait",
                      call.requests.size(), before)));
    }
    const auto more = static_cast<std::int64_t>(call.requests[i].tokens.size()) * call.n;
    if (!tokens.has_room(held, more) || !tokens.is_fair(held, held, more)) {
      return std::unexpected(invalid_value(
          call.is_chat ? "messages" : "prompt",
          fmt::format(
              "found {} tokens in prompts, each counted for its {} answers, expected at most {} of one client: so "
              "many may wait",
              held + more, call.n, std::min(tokens.most, QueueBound::kOwnerFactor * (tokens.most - held)))));
    }
    held += more;
  }
  return {};
}

}  // namespace octavo::server
