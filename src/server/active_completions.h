// The completions that are being answered, for whoever has something to tell or to ask all of them.
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

  /// A handler is one of them from now on, or no more.
  void insert(CompletionHandler* handler) { handlers_.insert(handler); }
  void erase(CompletionHandler* handler) { handlers_.erase(handler); }

  void tick(Clock::time_point now);
  /// Requests that have not come to the engine are refused, now and later: no constraint is compiled for it.
  void begin_drain();
  bool is_draining() const { return is_draining_; }
  /// Ends them all with an error.
  void abort(const ApiError& error);
  /// Ends those of keys that are none of these.
  void end_revoked(const ApiKeys& keys);
  /// Their choices that have not ended, of those that the engine has.
  std::vector<RunningAnswer> running() const;

 private:
  /// One that is told something may leave.
  std::vector<CompletionHandler*> copy() const { return {handlers_.begin(), handlers_.end()}; }

  std::unordered_set<CompletionHandler*> handlers_;
  bool is_draining_ = false;
};

}  // namespace octavo::server
