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

/// The place of a call in a list for which no memory is needed.
struct LostCall {
  bool is_listed = false;
  std::shared_ptr<Call> next = {};
};

/// Batches of a call on their way to a callback.
struct CallBatches {
  std::list<std::unique_ptr<EventBatch>> waiting = {};
  bool are_delivered = false;  // some thread calls back with them
};

/// The part of a call that its queue keeps there, under the queue's locks.
struct CallPlace {
  LostCall lost = {};
  CallBatches batches = {};
};

/// A piece of news about a call, before it has the form of an event.
struct News {
  std::shared_ptr<Call> call = {};
  RequestEvent event = {};
  std::vector<float> logits = {};  // of prompt rows, if there are any; `event` is none then
  std::size_t first_row = 0;
  bool has_failed = false;  // the engine ended, or the system had no memory for an event: the call ends here

  /// The memory that it takes while it waits; the end of a call always has room.
  std::size_t bytes() const;
};

class EventQueue final : public Handled {
 public:
  /// Error: the system has no descriptor for it.
  static CallResult<std::shared_ptr<EventQueue>> open(const octavo_queue_options& options);
  ~EventQueue() override;

  /// Any thread; nothing is thrown. With a callback the news become events at once, in here. False, and the news are
  /// dropped: those that wait take as much memory as they may.
  bool push(News news) noexcept;
  /// The system had no memory for news of the call: a poll ends it with an error. Any thread.
  void note_lost_news(std::shared_ptr<Call> call) noexcept;
  /// The events that wait, at most kMostAtOnce pieces of news; null: the time is over. Error: the queue was closed.
  CallResult<std::unique_ptr<EventBatch>> poll(int timeout_ms);
  int descriptor() const { return descriptor_; }
  /// The memory of news that may wait.
  std::size_t max_waiting_bytes() const { return max_waiting_bytes_; }
  CallList& calls() { return calls_; }
  bool is_closed() const { return is_closed_; }
  /// Waits for callbacks of other threads, unless the calling thread is inside of one, of whatever queue.
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
  CallList calls_;        // not over yet
  std::mutex telling_;    // held while news become events for a callback, and for its batches
  std::mutex mutex_;      // of the rest
  std::condition_variable filled_;
  bool is_telling_ = false;  // a poll makes events: others wait, as long as they may, so that events keep their order
  std::deque<News> news_;
  std::size_t waiting_bytes_ = 0;  // of these
  std::shared_ptr<Call> lost_;     // the first of a list of calls that have lost news, and end so
  std::condition_variable called_back_;
  int num_callbacks_ = 0;                // under way, on any thread
  std::atomic<bool> is_closed_ = false;  // written with the lock
};

}  // namespace octavo::capi
