// The events of a caller's requests, on their way from the thread that drives a model to those that poll.
//
// A handle stands for it. The engine's thread pushes; any thread polls, one at a time.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "capi/call_list.h"
#include "capi/event_batch.h"
#include "capi/handles.h"
#include "octavo/request_event.h"

namespace octavo::capi {

class Call;

/// The link of a call in the list of calls that have lost news: adding to that list takes no memory.
struct LostCall {
  bool is_listed = false;
  std::shared_ptr<Call> next = {};
};

/// Batches of a call on their way to a callback.
struct CallBatches {
  std::list<std::unique_ptr<EventBatch>> waiting = {};
  bool are_delivered = false;  // a thread calls back with them
};

/// The part of a call that its queue keeps in the call, guarded by the queue's mutexes.
struct CallPlace {
  LostCall lost = {};
  CallBatches batches = {};
};

/// A piece of news about a call, before it has the form of an event.
struct News {
  std::shared_ptr<Call> call = {};
  RequestEvent event = {};
  std::vector<float> logits = {};  // rows of a prompt's logits, if these are the news; `event` is none then
  std::size_t first_row = 0;
  bool has_failed = false;  // the engine ended, or the system had no memory for an event: the call ends here

  /// The memory that the news take while they wait; those of a call's end always have room.
  std::size_t bytes() const;
};

class EventQueue final : public Handled {
 public:
  /// Error: the system has no file descriptor for it.
  static CallResult<std::shared_ptr<EventQueue>> open(const octavo_queue_options& options);
  ~EventQueue() override;

  /// Any thread; throws nothing. With a callback, the news become events at once, inside this call. False: the news are
  /// dropped, because those that wait take as much memory as they may.
  bool push(News news) noexcept;
  /// Notes that the system had no memory for news of the call: a poll ends it with an error. Any thread.
  void note_lost_news(std::shared_ptr<Call> call) noexcept;
  /// The events of at most kMostAtOnce pieces of news that wait; null: the time is over. Error: the queue was closed.
  CallResult<std::unique_ptr<EventBatch>> poll(int timeout_ms);
  int descriptor() const { return descriptor_; }
  /// The most memory that waiting news may take.
  std::size_t max_waiting_bytes() const { return max_waiting_bytes_; }
  CallList& calls() { return calls_; }
  bool is_closed() const { return is_closed_; }
  /// Waits for callbacks of other threads, unless the calling thread is inside a callback of any queue.
  void close() override;

  static constexpr std::size_t kMostAtOnce = 4096;

 private:
  using Clock = std::chrono::steady_clock;

  EventQueue(const octavo_queue_options& options, int descriptor);
  bool is_empty() const { return news_.empty() && !lost_; }
  bool put(News news) noexcept;
  bool wait(std::unique_lock<std::mutex>& lock, const std::optional<Clock::time_point>& until);
  std::vector<News> take();
  void tell(std::vector<News> taken, EventBatch& batch) noexcept;
  void add_lost(std::shared_ptr<Call> call) noexcept;
  void hand_over(News news);
  void deliver(Call& call) noexcept;
  void call_back(Call& call, std::unique_ptr<EventBatch> batch) noexcept;
  bool begin_callback();
  void end_callback();

  const octavo_queue_options options_;
  const std::size_t max_waiting_bytes_;
  const int descriptor_;  // an eventfd, which counts 1 as long as there is news
  CallList calls_;        // the calls that are not over yet
  std::mutex telling_;    // guards batches, and is held while news become events for a callback
  std::mutex mutex_;      // guards all other members
  std::condition_variable filled_;
  bool is_telling_ = false;  // a poll makes events: others wait, as long as they may, so that events keep their order
  std::deque<News> news_;
  std::size_t waiting_bytes_ = 0;  // the memory of `news_`
  std::shared_ptr<Call> lost_;     // the first in the list of calls that have lost news, which end with an error
  std::condition_variable called_back_;
  int num_callbacks_ = 0;                // the callbacks that run now, on any thread
  std::atomic<bool> is_closed_ = false;  // written under the mutex
};

}  // namespace octavo::capi
