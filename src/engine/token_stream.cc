#include "octavo/token_stream.h"

#include <condition_variable>
#include <deque>
#include <mutex>
#include <new>
#include <utility>

namespace octavo {

struct TokenStream::Queue {
  std::mutex mutex;
  std::condition_variable filled;
  std::deque<RequestEvent> events;
  RequestEvent current;  // used by the thread that pulls
  RequestId id = 0;
  int choices_left = 0;  // choices whose last event was not pulled yet
  bool is_cut = false;   // the system had no memory for an event: no further events come

  /// Takes an event, on the engine's thread. It must not throw into a step, which has other requests' tokens to hand
  /// out.
  void push(const TokenEvent& told) noexcept {
    {
      const std::lock_guard lock(mutex);
      if (is_cut) return;
      try {
        events.emplace_back(told);
      } catch (const std::bad_alloc&) {
        is_cut = true;
      }
    }
    filled.notify_one();
  }
  const RequestEvent* pop() {
    current = std::move(events.front());
    events.pop_front();
    if (current.finish != FinishReason::kNone) --choices_left;
    return &current;
  }
  /// Gives a stream that was cut its last event.
  void fail() {
    current = {};
    current.finish = FinishReason::kFailed;
    choices_left = 0;
  }
};

TokenStream::TokenStream(Engine& engine, std::shared_ptr<Queue> queue) : engine_(&engine), queue_(std::move(queue)) {}

Result<std::unique_ptr<TokenStream>> TokenStream::submit(Engine& engine, Request request) {
  auto queue = std::make_shared<Queue>();
  queue->choices_left = request.num_choices;
  const Result<RequestId> id =
      engine.submit(std::move(request), [queue](const TokenEvent& event) { queue->push(event); });
  if (!id) return std::unexpected(id.error());
  queue->id = *id;
  return std::unique_ptr<TokenStream>(new TokenStream(engine, std::move(queue)));
}

TokenStream::~TokenStream() {
  if (!done()) engine_->cancel(id());
}

RequestId TokenStream::id() const { return queue_->id; }

const RequestEvent* TokenStream::next() {
  std::unique_lock lock(queue_->mutex);
  if (queue_->choices_left == 0) return nullptr;
  queue_->filled.wait(lock, [&] { return !queue_->events.empty() || queue_->is_cut; });
  lock.unlock();
  return try_next();
}

const RequestEvent* TokenStream::try_next() {
  {
    const std::lock_guard lock(queue_->mutex);
    if (!queue_->events.empty()) return queue_->pop();
    if (!queue_->is_cut || queue_->choices_left == 0) return nullptr;
    queue_->fail();
  }
  engine_->cancel(id());  // without the lock, as the callback of the end takes it
  return &queue_->current;
}

bool TokenStream::done() const {
  const std::lock_guard lock(queue_->mutex);
  return queue_->choices_left == 0;
}

}  // namespace octavo
