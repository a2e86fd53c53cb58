#include "server/active_completions.h"

#include "server/completion_handler.h"
#include "server/request_head.h"

namespace octavo::server {

void ActiveCompletions::tick(Clock::time_point now) {
  for (CompletionHandler* handler : handlers_) handler->tick(now);
}

void ActiveCompletions::begin_drain() {
  is_draining_ = true;
  for (CompletionHandler* handler : copy()) handler->begin_drain();
}

void ActiveCompletions::abort(const ApiError& error) {
  for (CompletionHandler* handler : copy()) handler->abort(error);
}

void ActiveCompletions::end_revoked(const ApiKeys& keys) {
  for (CompletionHandler* handler : copy())
    if (!keys.contains(handler->key().digest)) handler->abort(key_revoked());
}

std::vector<RunningAnswer> ActiveCompletions::running() const {
  std::vector<RunningAnswer> running;
  for (const CompletionHandler* handler : handlers_) handler->append_running(running);
  return running;
}

}  // namespace octavo::server
