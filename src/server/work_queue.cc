#include "server/work_queue.h"

#include <algorithm>
#include <exception>
#include <tuple>
#include <utility>

#include "base/to_size.h"

namespace octavo::server {
namespace {

// Each byte of a body makes it count as if it had come so much later: some twenty times the time to parse it. So 8 MiB
// let the bodies of the next 40 seconds pass, and nothing waits for ever.
constexpr std::chrono::nanoseconds kPatiencePerByte{5000};

}  // namespace

WorkQueue::WorkQueue(int num_threads) : num_threads_(num_threads), threads_(to_size(num_threads)) {}

WorkQueue::Turn::Turn(WorkQueue& queue, std::string client, std::size_t num_bytes, std::function<void()> on_begin,
                      Clock::time_point now)
    : queue_(queue),
      name_(std::move(client)),
      client_(queue.clients_[name_]),
      num_bytes_(num_bytes),
      is_large_(num_bytes > kSmallBytes),
      due_(now + kPatiencePerByte * static_cast<std::int64_t>(num_bytes)) {
  place_ = queue_.waiting_.insert(queue_.waiting_.end(), this);
  ++client_.num_turns;
  queue_.advance();
  on_begin_ = std::move(on_begin);
}

WorkQueue::Turn::~Turn() {
  if (has_begun_) {
    --client_.num_running;
    --queue_.num_running_;
    if (is_large_) --queue_.num_running_large_;
    if (is_large_) queue_.num_large_bytes_ += num_bytes_;
  } else {
    queue_.waiting_.erase(place_);
  }
  if (--client_.num_turns == 0) queue_.clients_.erase(name_);
  queue_.advance();
}

std::size_t WorkQueue::num_waiting(const std::string& client) const {
  const auto found = clients_.find(client);
  return found == clients_.end() ? 0 : to_size(found->second.num_turns - found->second.num_running);
}

bool WorkQueue::may_begin(const Turn& turn) const {
  return !turn.is_large_ || num_running_large_ < std::max(1, num_threads_ - 1);
}

bool WorkQueue::goes_before(const Turn& a, const Turn& b) {
  return std::tie(a.client_.num_running, a.client_.last_begin, a.due_) <
         std::tie(b.client_.num_running, b.client_.last_begin, b.due_);
}

void WorkQueue::close() {
  is_closed_ = true;
  for (Turn* turn : waiting_)
    if (turn->on_begin_) turn->on_begin_();
}

void WorkQueue::advance() {
  while (!is_closed_ && num_running_ < num_threads_) {
    Turn* next = nullptr;
    for (Turn* turn : waiting_)
      if (may_begin(*turn) && (next == nullptr || goes_before(*turn, *next))) next = turn;
    if (next == nullptr) return;
    waiting_.erase(next->place_);
    ++next->client_.num_running;
    next->client_.last_begin = ++num_begun_;
    ++num_running_;
    if (next->is_large_) ++num_running_large_;
    next->has_begun_ = true;
    try {
      if (next->on_begin_) next->on_begin_();
    } catch (const std::exception&) {
      continue;  // a destructor may have called this; whatever wakes the turn's owner next finds that it has begun
    }
  }
}

}  // namespace octavo::server
