#include "server/stoppable_work.h"

#include <utility>

#include "server/request_deadline.h"

namespace octavo::server {

StoppableWork::Part::Part(StoppableWork& all, Exchange& exchange, Clock::time_point now)
    : all_(all), connection_(exchange.connection) {
  if (const auto seconds = deadline_of(exchange.request); seconds && *seconds > 0)
    deadline_ = time_after(now, *seconds);
  all_.parts_.insert(this);
}

StoppableWork::Part::~Part() { all_.parts_.erase(this); }

void StoppableWork::Part::end(ApiError error) {
  error_ = std::move(error);
  stop_.request_stop();
  connection_.wake().notify();
}

void StoppableWork::tick(Clock::time_point now) {
  const auto is_over = [now](const auto& begin) { return begin && now - *begin >= kGrace; };
  for (Part* part : parts_) {
    if (part->error_) continue;
    if (!part->hung_up_ && part->connection_.hung_up()) part->hung_up_ = now;
    if (part->deadline_ && now >= *part->deadline_) {
      part->end(deadline_over());
    } else if (is_over(part->hung_up_) || is_over(drain_begin_)) {
      part->end(shutting_down());
    }
  }
}

}  // namespace octavo::server
