#include "capi/event_queue.h"

#include <fmt/format.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <iterator>
#include <utility>

#include "capi/call.h"

namespace octavo::capi {
namespace {

/// Callbacks, of any queue, that the thread is inside of: one may cancel, whose news are another.
thread_local int depth_of_callbacks = 0;

}  // namespace

CallResult<std::shared_ptr<EventQueue>> EventQueue::open(const octavo_queue_options& options) {
  const int descriptor = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (descriptor < 0)
    return std::unexpected(CallError::of(OCTAVO_FAILED, fmt::format("cannot make a queue: {}", std::strerror(errno))));
  return std::shared_ptr<EventQueue>(new EventQueue(options, descriptor));
}

EventQueue::EventQueue(const octavo_queue_options& options, int descriptor)
    : options_(options), descriptor_(descriptor) {}

EventQueue::~EventQueue() { ::close(descriptor_); }

void EventQueue::push(News news) noexcept {
  if (is_closed_) return;
  if (options_.on_events != nullptr) return hand_over(std::move(news));
  {
    const std::lock_guard lock(mutex_);
    if (is_closed_) return;
    const std::shared_ptr<Call> call = news.call;
    const bool was_empty = is_empty();
    try {
      news_.push_back(std::move(news));
    } catch (const std::exception&) {
      add_lost(call);
    }
    if (was_empty) ::eventfd_write(descriptor_, 1);
  }
  filled_.notify_one();
}

void EventQueue::note_lost_news(std::shared_ptr<Call> call) noexcept {
  {
    const std::lock_guard lock(mutex_);
    if (is_closed_) return;
    const bool was_empty = is_empty();
    add_lost(std::move(call));
    if (was_empty) ::eventfd_write(descriptor_, 1);
  }
  filled_.notify_one();
}

void EventQueue::add_lost(std::shared_ptr<Call> call) noexcept {
  call->note_lost_news();
  LostCall& place = call->lost_place();
  if (std::exchange(place.is_listed, true)) return;
  place.next = std::move(lost_);
  lost_ = std::move(call);
}

bool EventQueue::begin_callback() {
  const std::lock_guard lock(mutex_);
  if (is_closed_) return false;
  ++num_callbacks_;
  ++depth_of_callbacks;
  return true;
}

void EventQueue::end_callback() {
  const std::lock_guard lock(mutex_);
  --depth_of_callbacks;
  if (--num_callbacks_ == 0) called_back_.notify_all();
}

// A callback may cancel, whose news come here once more: the lock is not held then.
void EventQueue::hand_over(News news) {
  if (!begin_callback()) return;
  const std::shared_ptr<Call> call = news.call;
  try {
    auto batch = std::make_unique<EventBatch>();
    {
      const std::lock_guard alone(polling_);
      call->write(std::move(news), *batch);
    }
    if (!batch->is_empty()) options_.on_events(options_.user, EventBatch::release(std::move(batch)));
  } catch (const std::exception&) {
    call->note_lost_news();
  }
  end_callback();
}

bool EventQueue::wait(std::unique_lock<std::mutex>& lock, const std::optional<Clock::time_point>& until) {
  const auto is_ready = [this] { return is_closed_ || !is_empty(); };
  if (until) return filled_.wait_until(lock, *until, is_ready);
  filled_.wait(lock, is_ready);
  return true;
}

/// The news that wait, and ends of calls that have lost news, of which nothing else may come.
std::vector<News> EventQueue::take(std::unique_lock<std::mutex>& lock) {
  std::size_t num_lost = 0;
  for (const Call* call = lost_.get(); call != nullptr; call = call->lost_place().next.get()) ++num_lost;
  const std::size_t count = std::min(news_.size(), kMostAtOnce);
  std::vector<News> taken;
  taken.reserve(count + num_lost);  // nothing throws behind it
  const auto end = news_.begin() + static_cast<std::ptrdiff_t>(count);
  std::move(news_.begin(), end, std::back_inserter(taken));
  news_.erase(news_.begin(), end);
  while (lost_) {
    LostCall place = std::exchange(lost_->lost_place(), {});
    taken.push_back({.call = std::exchange(lost_, std::move(place.next)), .has_failed = true});
  }
  eventfd_t ignored = 0;
  if (news_.empty()) ::eventfd_read(descriptor_, &ignored);
  lock.unlock();
  return taken;
}

CallResult<std::unique_ptr<EventBatch>> EventQueue::poll(int timeout_ms) {
  if (options_.on_events != nullptr)
    return std::unexpected(
        CallError::of(OCTAVO_INVALID, "found a queue with a callback, expected one without: it is not polled"));
  std::optional<Clock::time_point> until;
  if (timeout_ms >= 0) until = Clock::now() + std::chrono::milliseconds(timeout_ms);
  const std::lock_guard alone(polling_);
  for (;;) {
    std::unique_lock lock(mutex_);
    const bool in_time = wait(lock, until);
    if (is_closed_) return std::unexpected(CallError::of(OCTAVO_CLOSED, "the queue was closed"));
    if (!in_time) return nullptr;
    auto batch = std::make_unique<EventBatch>();
    for (News& news : take(lock)) {
      const std::shared_ptr<Call> call = news.call;
      try {
        call->write(std::move(news), *batch);
      } catch (const std::exception&) {
        note_lost_news(call);
      }
    }
    if (!batch->is_empty()) return batch;  // else there was news that is told later, with more
  }
}

void EventQueue::close() {
  std::deque<News> dropped;
  std::shared_ptr<Call> lost;
  {
    const std::lock_guard lock(mutex_);
    is_closed_ = true;
    dropped.swap(news_);
    lost = std::move(lost_);
  }
  filled_.notify_all();
  for (const std::shared_ptr<Call>& call : calls_.all()) call->cancel();
  if (depth_of_callbacks > 0) return;  // two that close each other's queue would wait for ever
  std::unique_lock lock(mutex_);
  called_back_.wait(lock, [this] { return num_callbacks_ == 0; });
}

}  // namespace octavo::capi
