// The completions that are being answered, for those that have something to tell to, or to ask of, all of them.
//
// Owned by the Service; the I/O thread.
#pragma once

#include <unordered_set>
#include <vector>

#include "api/call/api_error.h"
#include "api/llama/llama_slots.h"
#include "http/http_connection.h"
#include "server/api_keys.h"

namespace octavo::server {

class CompletionHandler;

class ActiveCompletions {
 public:
  ActiveCompletions() = default;
  ActiveCompletions(const ActiveCompletions&) = delete;
  ActiveCompletions& operator=(const ActiveCompletions&) = delete;

  /// Adds a handler; erase() removes it.
  void insert(CompletionHandler* handler) { handlers_.insert(handler); }
  void erase(CompletionHandler* handler) { handlers_.erase(handler); }

  void tick(Clock::time_point now);
  /// Refuses requests that have not reached the engine, now and later: no constraint is compiled for them.
  void begin_drain();
  bool is_draining() const { return is_draining_; }
  /// Ends all of them with an error.
  void abort(const ApiError& error);
  /// Ends those whose key is not in `keys`.
  void end_revoked(const ApiKeys& keys);
  /// Their choices that the engine has and that have not ended.
  std::vector<RunningAnswer> running() const;

 private:
  /// A copy of the set, as a handler that is told something may leave it.
  std::vector<CompletionHandler*> copy() const { return {handlers_.begin(), handlers_.end()}; }

  std::unordered_set<CompletionHandler*> handlers_;
  bool is_draining_ = false;
};

}  // namespace octavo::server
