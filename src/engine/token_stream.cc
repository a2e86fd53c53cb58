#include "octavo/token_stream.h"

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <new>
#include <string>
#include <utility>
#include <vector>

namespace octavo {
namespace {

/// An event with its own copies of what it shows.
struct StoredEvent {
  explicit StoredEvent(const TokenEvent& from)
      : event(from),
        text(from.text),
        bytes(from.bytes),
        reasoning(from.reasoning),
        top_logprobs(from.top_logprobs.begin(), from.top_logprobs.end()) {}

  const TokenEvent* view() {
    event.text = text;
    event.bytes = bytes;
    event.reasoning = reasoning;
    event.top_logprobs = top_logprobs;
    return &event;
  }

  TokenEvent event;
  std::string text, bytes, reasoning;
  std::vector<TokenLogprob> top_logprobs;
};

}  // namespace

struct TokenStream::Queue {
  std::mutex mutex;
  std::condition_variable filled;
  std::deque<StoredEvent> events;
  StoredEvent current{TokenEvent{}};  // the puller's
  RequestId id = 0;
  int choices_left = 0;  // whose last event was not pulled
  bool is_cut = false;   // the system had no memory for an event: there are no further ones

  /// The engine's thread. Nothing may be thrown into a step, which has the tokens of other requests still to hand out.
  void push(const TokenEvent& event) noexcept {
    if (is_cut) return;
    try {
      events.emplace_back(event);
    } catch (const std::bad_alloc&) {
      is_cut = true;
    }
  }
  const TokenEvent* pop() {
    current = std::move(events.front());
    events.pop_front();
    if (current.event.finish != FinishReason::kNone) --choices_left;
    return current.view();
  }
  /// The last event of a stream that was cut.
  void fail() {
    current = StoredEvent(TokenEvent{.request = id, .text = {}, .finish = FinishReason::kFailed});
    choices_left = 0;
  }
};

TokenStream::TokenStream(Engine& engine, std::shared_ptr<Queue> queue) : engine_(&engine), queue_(std::move(queue)) {}

Result<std::unique_ptr<TokenStream>> TokenStream::submit(Engine& engine, Request request) {
  auto queue = std::make_shared<Queue>();
  queue->choices_left = request.num_choices;
  const Result<RequestId> id = engine.submit(std::move(request), [queue](const TokenEvent& event) {
    {
      const std::lock_guard lock(queue->mutex);
      queue->push(event);
    }
    queue->filled.notify_one();
  });
  if (!id) return std::unexpected(id.error());
  queue->id = *id;
  return std::unique_ptr<TokenStream>(new TokenStream(engine, std::move(queue)));
}

TokenStream::~TokenStream() {
  if (!done()) engine_->cancel(id());
}

RequestId TokenStream::id() const { return queue_->id; }

const TokenEvent* TokenStream::next() {
  std::unique_lock lock(queue_->mutex);
  if (queue_->choices_left == 0) return nullptr;
  queue_->filled.wait(lock, [&] { return !queue_->events.empty() || queue_->is_cut; });
  lock.unlock();
  return try_next();
}

const TokenEvent* TokenStream::try_next() {
  {
    const std::lock_guard lock(queue_->mutex);
    if (!queue_->events.empty()) return queue_->pop();
    if (!queue_->is_cut || queue_->choices_left == 0) return nullptr;
    queue_->fail();
  }
  engine_->cancel(id());  // without the lock, which the callback of its end takes
  return queue_->current.view();
}

bool TokenStream::done() const {
  const std::lock_guard lock(queue_->mutex);
  return queue_->choices_left == 0;
}

}  // namespace octavo
