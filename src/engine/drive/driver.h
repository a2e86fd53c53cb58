// What drives an engine, and how other threads reach it: the lock, the inbox, the loop, statistics.
//
// One thread drives at a time; it alone touches what the parts refer to, and calls the callbacks. Any thread may call
// the functions here. A callback runs on the thread that drives: a submit() or cancel() in it acts at once, a step()
// in it does nothing.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <stop_token>
#include <thread>

#include "engine/answers/answers.h"
#include "engine/answers/request_table.h"
#include "engine/drive/idle_release.h"
#include "engine/drive/inbox.h"
#include "engine/drive/statistics.h"
#include "engine/drive/step.h"
#include "engine/schedule/active_engines.h"

namespace octavo {

/// The parts that the thread which drives works with. All of them must outlive the driver.
struct DriverParts {
  const Scheduler& scheduler;
  RequestTable& requests;
  Answers& answers;
  Step& step;
  Statistics& statistics;
  ActiveEngines& active_engines;  // counts all engines that share the threads
  Inbox& inbox;
  StoredPrefixes* stored;  // null: no prefix is kept on disk
};

class Driver {
 public:
  explicit Driver(const DriverParts& parts);

  /// The functions of Engine with these names.
  bool step();
  void run_until(const std::stop_token& stop, const IdleRelease::Times& idle_times);
  void release_memory(bool cached);
  void drain() { parts_.inbox.close(); }
  EngineStats stats() const;

  /// Ends a request that was handed over, now or soon; ignores others.
  void cancel(RequestId id);
  /// Takes a request in, or leaves it where the thread that drives finds it. False: there is no memory, or no further
  /// request is taken; it stays with the caller.
  bool submit(std::unique_ptr<ActiveRequest>& request);
  bool is_closed() const { return parts_.inbox.is_closed(); }

 private:
  /// Held by the thread that drives, from its outermost call until that returns.
  class Driving;
  class Listening;

  bool is_driving() const { return driver_.load() == std::this_thread::get_id(); }
  bool advance();
  bool try_take_inbox();
  bool take_inbox();
  void take_stored();
  bool is_idle() const;
  bool is_drained();

  const DriverParts parts_;
  ActiveEngines::Membership membership_;  // changed by the thread that drives
  Inbox::Contents taken_;                 // scratch of take_inbox()

  mutable std::mutex mutex_;              // held by Driving
  std::atomic<std::thread::id> driver_;   // the thread that holds the mutex; no thread: nobody does
  std::atomic<int> num_listening_ = 0;    // how many threads will look at the inbox again before they leave
  std::atomic<bool> is_looping_ = false;  // a thread is in run_until()
};

}  // namespace octavo
