#include "server/compile_queue.h"

#include <fmt/format.h>

#include "base/error.h"
#include "server/run_on.h"

namespace octavo::server {
namespace {

/// The bytes that a call holds while it waits.
std::size_t num_bytes_of(const CompletionCall& call) {
  std::size_t num_bytes = 0;
  for (const Request& request : call.requests) num_bytes += request.tokens.size() * sizeof(TokenId);
  if (call.constraint) {
    const ConstraintSource& source = call.constraint->source;
    num_bytes += source.text.size();
    for (const std::string& choice : source.choices) num_bytes += choice.size();
    for (const ConstraintRule& rule : source.rules)
      for (const std::string& text : rule.texts) num_bytes += text.size();
  }
  return num_bytes;
}

}  // namespace

ApiResult<void> CompileQueue::check_room(const std::string& client) const {
  const auto all = static_cast<std::int64_t>(queue_.num_waiting());
  const auto own = static_cast<std::int64_t>(queue_.num_waiting(client));
  std::string message;
  if (!max_waiting_.has_room(all, 1)) {
    message = fmt::format("found {} requests whose constraints wait to be compiled, expected fewer than {}", all,
                          max_waiting_.most);
  } else if (!max_waiting_.is_fair(all, own, 1)) {
    message = fmt::format(
        "found {} requests of this client whose constraints wait to be compiled, expected fewer than {}: {} times the "
        "places that are left",
        own, QueueBound::kOwnerFactor * (max_waiting_.most - all), QueueBound::kOwnerFactor);
  } else {
    return {};
  }
  return std::unexpected(to_api_error({.message = std::move(message), .kind = ErrorKind::kQueueFull}));
}

asio::awaitable<ApiResult<void>> CompileQueue::compile(Exchange& exchange, CompletionCall& call, const ModelText& words,
                                                       std::stop_token stop) {
  HttpConnection& connection = exchange.connection;
  const std::string client = client_of(exchange);
  if (auto room = check_room(client); !room) co_return room;
  const std::size_t num_bytes = num_bytes_of(call);
  connection.hold_body(num_bytes);
  const WorkQueue::Turn turn(queue_, client, num_bytes, [&connection] { connection.wake().notify(); }, Clock::now());
  while (!turn.has_begun() && !stop.stop_requested() && !connection.gave_up()) co_await connection.wake().wait();
  if (connection.gave_up()) co_return std::unexpected(too_much_received());
  connection.body_is_taken();
  if (stop.stop_requested()) co_return ApiResult<void>();
  auto work = [&] { return compile_constraint(call, words, stop); };
  co_return co_await run_on(queue_.threads(), work);
}

}  // namespace octavo::server
