// Compiles the constraints of calls on a thread of its own: however long that takes, bodies are read and tokenized
// meanwhile.
//
// Clients take turns, one constraint of one client after another's. Owned by the Service; the I/O thread.
#pragma once

#include <stop_token>

#include "api/call/completion.h"
#include "octavo/queue_bound.h"
#include "server/exchange.h"
#include "server/work_queue.h"

namespace octavo::server {

class CompileQueue {
 public:
  /// `max_waiting`: the most calls that wait for their turn.
  explicit CompileQueue(QueueBound max_waiting) : max_waiting_(max_waiting) {}

  /// Waits for the call's turn, and compiles its constraint. Whoever asks `stop` for a stop must notify the
  /// connection's wake(); the result has no meaning then. Errors: those of compile_constraint(); too many calls wait
  /// (429); the connection gave up what it holds.
  asio::awaitable<ApiResult<void>> compile(Exchange& exchange, CompletionCall& call, const ModelText& words,
                                           std::stop_token stop);

  std::size_t num_waiting() const { return queue_.num_waiting(); }

 private:
  ApiResult<void> check_room(const std::string& client) const;

  const QueueBound max_waiting_;
  WorkQueue queue_{1};
};

}  // namespace octavo::server
