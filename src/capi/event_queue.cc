#include "capi/event_queue.h"

#include <fmt/format.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "capi/call.h"
#include "capi/callback_scope.h"

namespace octavo::capi {
std::size_t News::bytes() const {
  if (has_failed) return 0;
  return sizeof(News) + logits.size() * sizeof(float) + event.top_logprobs.size() * sizeof(TokenLogprob) +
         event.text.size() + event.bytes.size() + event.reasoning.size();
}

CallResult<std::shared_ptr<EventQueue>> EventQueue::open(const octavo_queue_options& options) {
  const int descriptor = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (descriptor < 0)
    return std::unexpected(CallError::of(OCTAVO_FAILED, fmt::format("cannot make a queue: {}", std::strerror(errno))));
  return std::shared_ptr<EventQueue>(new EventQueue(options, descriptor));
}

EventQueue::EventQueue(const octavo_queue_options& options, int descriptor)
    : options_(options),
      max_waiting_bytes_(options.max_waiting_bytes == 0 ? OCTAVO_MAX_WAITING_BYTES : options.max_waiting_bytes),
      descriptor_(descriptor) {}

EventQueue::~EventQueue() { ::close(descriptor_); }

bool EventQueue::push(News news) noexcept {
  if (is_closed_) return true;
  if (options_.on_events != nullptr) {
    hand_over(std::move(news));
    return true;
  }
  const bool has_room = put(std::move(news));
  filled_.notify_one();
  return has_room;
}

bool EventQueue::put(News news) noexcept {
  const std::lock_guard lock(mutex_);
  if (is_closed_) return true;
  const std::size_t bytes = news.bytes();
  if (bytes > max_waiting_bytes_ - waiting_bytes_) return false;
  const std::shared_ptr<Call> call = news.call;
  const bool was_empty = is_empty();
  try {
    news_.push_back(std::move(news));
    waiting_bytes_ += bytes;
  } catch (const std::exception&) {
    add_lost(call);
  }
  if (was_empty) ::eventfd_write(descriptor_, 1);
  return true;
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
  LostCall& place = call->place().lost;
  if (std::exchange(place.is_listed, true)) return;
  place.next = std::move(lost_);
  lost_ = std::move(call);
}

bool EventQueue::begin_callback() {
  const std::lock_guard lock(mutex_);
  if (is_closed_) return false;
  ++num_callbacks_;
  return true;
}

void EventQueue::end_callback() {
  const std::lock_guard lock(mutex_);
  if (--num_callbacks_ == 0) called_back_.notify_all();
}

// No lock is held where the callback, or leave(), may cancel: the news of that end come through here once more.
void EventQueue::hand_over(News news) {
  if (!begin_callback()) return;
  const CallbackScope inside;
  const std::shared_ptr<Call> call = news.call;
  try {
    std::list<std::unique_ptr<EventBatch>> made;
    made.push_back(std::make_unique<EventBatch>());
    std::list<std::unique_ptr<EventBatch>>& waiting = call->place().batches.waiting;
    bool is_over = false;
    {
      const std::lock_guard alone(telling_);
      is_over = call->write(std::move(news), *made.front());
      if (!made.front()->is_empty()) waiting.splice(waiting.end(), made);
    }
    if (is_over) call->leave();
  } catch (const std::exception&) {
    call->note_lost_news();
  }
  deliver(*call);
  end_callback();
}

/// Calls back with the batches of a call, in the order in which they were made. Where another thread does so already,
/// it takes these batches too, so that none is told beside another or after the call's end.
void EventQueue::deliver(Call& call) noexcept {
  CallBatches& batches = call.place().batches;
  std::unique_lock alone(telling_);
  if (std::exchange(batches.are_delivered, true)) return;
  while (!batches.waiting.empty()) {
    std::unique_ptr<EventBatch> batch = std::move(batches.waiting.front());
    batches.waiting.pop_front();
    alone.unlock();
    call_back(call, std::move(batch));
    alone.lock();
  }
  batches.are_delivered = false;
}

void EventQueue::call_back(Call& call, std::unique_ptr<EventBatch> batch) noexcept {
  if (is_closed_) return;  // the callback before this one closed the queue
  try {
    options_.on_events(options_.user, EventBatch::release(std::move(batch)));
  } catch (const std::exception&) {
    call.note_lost_news();
  }
}

bool EventQueue::wait(std::unique_lock<std::mutex>& lock, const std::optional<Clock::time_point>& until) {
  const auto is_ready = [this] { return is_closed_ || (!is_telling_ && !is_empty()); };
  if (until) return filled_.wait_until(lock, *until, is_ready);
  filled_.wait(lock, is_ready);
  return true;
}

/// The news that wait, and the end of each call that has lost news: nothing may come after that end.
std::vector<News> EventQueue::take() {
  std::size_t num_lost = 0;
  for (const Call* call = lost_.get(); call != nullptr; call = call->place().lost.next.get()) ++num_lost;
  const std::size_t count = std::min(news_.size(), kMostAtOnce);
  std::vector<News> taken;
  taken.reserve(count + num_lost);  // nothing after this throws
  const auto end = news_.begin() + static_cast<std::ptrdiff_t>(count);
  for (auto news = news_.begin(); news != end; ++news) {
    waiting_bytes_ -= news->bytes();
    taken.push_back(std::move(*news));
  }
  news_.erase(news_.begin(), end);
  while (lost_) {
    LostCall place = std::exchange(lost_->place().lost, {});
    taken.push_back({.call = std::exchange(lost_, std::move(place.next)), .has_failed = true});
  }
  eventfd_t ignored = 0;
  if (news_.empty()) ::eventfd_read(descriptor_, &ignored);
  return taken;
}

void EventQueue::tell(std::vector<News> taken, EventBatch& batch) noexcept {
  for (News& news : taken) {
    const std::shared_ptr<Call> call = news.call;
    try {
      if (call->write(std::move(news), batch)) call->leave();
    } catch (const std::exception&) {
      note_lost_news(call);
    }
  }
}

CallResult<std::unique_ptr<EventBatch>> EventQueue::poll(int timeout_ms) {
  if (options_.on_events != nullptr)
    return std::unexpected(
        CallError::of(OCTAVO_INVALID, "found a queue with a callback, expected one without: it is not polled"));
  std::optional<Clock::time_point> until;
  if (timeout_ms >= 0) until = Clock::now() + std::chrono::milliseconds(timeout_ms);
  std::unique_lock lock(mutex_);
  for (;;) {
    const bool in_time = wait(lock, until);
    if (is_closed_) return std::unexpected(CallError::of(OCTAVO_CLOSED, "the queue was closed"));
    if (!in_time) return nullptr;
    auto batch = std::make_unique<EventBatch>();
    std::vector<News> taken = take();
    is_telling_ = true;
    lock.unlock();
    tell(std::move(taken), *batch);
    lock.lock();
    is_telling_ = false;
    filled_.notify_one();
    if (!batch->is_empty()) return batch;  // else the news made no event yet: a later one tells them too
  }
}

void EventQueue::close() {
  std::deque<News> dropped;
  std::shared_ptr<Call> lost;
  {
    const std::lock_guard lock(mutex_);
    is_closed_ = true;
    dropped.swap(news_);
    waiting_bytes_ = 0;
    lost = std::move(lost_);
  }
  filled_.notify_all();
  for (const std::shared_ptr<Call>& call : calls_.all()) call->cancel();
  if (CallbackScope::is_inside()) return;  // two callbacks that close each other's queue would wait for ever
  std::unique_lock lock(mutex_);
  called_back_.wait(lock, [this] { return num_callbacks_ == 0; });
}

}  // namespace octavo::capi
