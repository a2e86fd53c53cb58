#include "engine/drive/driver.h"

#include "base/error.h"

namespace octavo {
namespace {

constexpr std::chrono::milliseconds kLongestWait(5);  // for the store, before the inbox is looked at again

}  // namespace

class Driver::Driving {
 public:
  explicit Driving(Driver& driver) : driver_(driver), lock_(driver.mutex_) { begin(); }
  Driving(Driver& driver, std::try_to_lock_t tried) : driver_(driver), lock_(driver.mutex_, tried) {
    if (lock_) begin();
  }
  ~Driving() {
    if (lock_) end();
  }
  Driving(const Driving&) = delete;
  Driving& operator=(const Driving&) = delete;
  explicit operator bool() const { return lock_.owns_lock(); }

 private:
  void begin() { driver_.driver_ = std::this_thread::get_id(); }
  void end() {
#ifdef OCTAVO_INTEGRITY_CHECKS
    const Result<void> intact = driver_.parts_.requests.check_integrity();
    OCTAVO_CHECK(intact.has_value(), "{}", intact.error().message);
#endif
    driver_.parts_.requests.clear_retired();
    driver_.membership_.set_active(!driver_.parts_.scheduler.empty());
    driver_.parts_.statistics.copy_stats();
    driver_.driver_ = std::thread::id();
  }

  Driver& driver_;
  std::unique_lock<std::mutex> lock_;
};

// Tells other threads that this one will look at the inbox again, from before it waits for the lock until it is free.
class Driver::Listening {
 public:
  explicit Listening(Driver& driver) : count_(driver.num_listening_) { ++count_; }
  ~Listening() { --count_; }
  Listening(const Listening&) = delete;
  Listening& operator=(const Listening&) = delete;

 private:
  std::atomic<int>& count_;
};

Driver::Driver(const DriverParts& parts) : parts_(parts), membership_(parts.active_engines) {
  parts_.statistics.copy_stats();
}

bool Driver::step() {
  if (is_driving()) return false;  // called in a callback
  const Listening listening(*this);
  const Driving driving(*this);
  return advance();
}

/// Does one round of work. True: there was some.
bool Driver::advance() {
  const auto start = Step::Clock::now();
  const bool heard = take_inbox();
  const bool expired = parts_.answers.end_expired(start);
  if (parts_.stored != nullptr) take_stored();
  if (parts_.scheduler.empty()) {
    const bool waits = !is_idle();
    if (waits) parts_.stored->wait(kLongestWait);
    return heard || expired || waits;
  }
  membership_.set_active(true);
  parts_.step.run(start);
  return true;
}

/// Takes reads and writes of the store that have ended, then makes room for the next step.
void Driver::take_stored() {
  parts_.stored->collect();
  while (Sequence* prompt = parts_.stored->next_ready())
    if (!parts_.requests.add_ready(*prompt))
      parts_.answers.end(*parts_.requests.find(prompt->params.id), FinishReason::kFailed);
  parts_.stored->make_room();
  parts_.stored->set_busy(!parts_.scheduler.empty());
}

/// Whether nobody waits for a step, nor for a read of the store.
bool Driver::is_idle() const {
  return parts_.scheduler.empty() && (parts_.stored == nullptr || parts_.stored->num_waiting() == 0);
}

void Driver::run_until(const std::stop_token& stop, const IdleRelease::Times& idle_times) {
  if (is_driving()) return;  // called in a callback
  is_looping_ = true;
  IdleRelease idle(idle_times);
  while (!stop.stop_requested()) {
    if (step()) {
      idle.restart();
      continue;
    }
    if (is_drained()) break;
    const IdleRelease::Due due = idle.due(IdleRelease::Clock::now());
    if (due != IdleRelease::Due::kNothing) release_memory(due == IdleRelease::Due::kAll);
    parts_.inbox.wait(stop, idle.next());
  }
  is_looping_ = false;
}

void Driver::release_memory(bool cached) {
  if (is_driving()) return;  // called in a callback: the step's blocks may be free already
  const Driving driving(*this);
  parts_.step.release_memory(cached);
}

EngineStats Driver::stats() const {
  if (is_driving()) return parts_.statistics.current();
  if (const std::unique_lock lock(mutex_, std::try_to_lock); lock) return parts_.statistics.current();
  return parts_.statistics.copied();
}

// The lock is held, so that a request is seen that was taken in at once and not through the inbox.
bool Driver::is_drained() {
  const Driving driving(*this);
  return parts_.inbox.is_drained() && is_idle();
}

void Driver::cancel(RequestId id) {
  if (is_driving()) {
    ActiveRequest* request = parts_.requests.find(id);
    if (request != nullptr) return parts_.answers.end(*request, FinishReason::kCancelled);
    parts_.requests.unpin(id);
    return parts_.inbox.put_cancel(id);  // the request may be in the inbox
  }
  parts_.inbox.put_cancel(id);
  while (parts_.inbox.has_cancels()) {
    if (try_take_inbox()) continue;
    if (num_listening_ > 0) return;  // that is a step, and the next one hears it; or a cancel(), which looks again
    std::this_thread::yield();       // the lock is held only for a moment, for statistics or a request
  }
}

bool Driver::submit(std::unique_ptr<ActiveRequest>& request) {
  if (is_driving()) return parts_.requests.add(request);
  if (!is_looping_) {
    const std::unique_lock lock(mutex_, std::try_to_lock);
    if (lock) {
      const bool taken = !parts_.inbox.is_closed() && parts_.requests.add(request);
      parts_.inbox.wake();
      return taken;
    }
  }
  return parts_.inbox.put(request);
}

/// Takes the inbox. False: another thread drives the engine.
bool Driver::try_take_inbox() {
  const Listening listening(*this);
  const Driving driving(*this, std::try_to_lock);
  if (!driving) return false;
  take_inbox();
  parts_.inbox.wake();  // the thread in run_until() must not sleep over requests that were taken out
  return true;
}

/// Takes all orders of the inbox. True: there were some.
bool Driver::take_inbox() {
  parts_.inbox.take(taken_);
  if (taken_.empty()) return false;
  for (std::unique_ptr<ActiveRequest>& request : taken_.requests) {
    if (parts_.requests.add(request)) continue;
    request->place.leave();
    Answers::emit_before_start(*request, FinishReason::kFailed);
  }
  taken_.requests.clear();
  for (std::size_t i = 0; i < taken_.cancels.size(); ++i) {
    if (ActiveRequest* request = parts_.requests.find(taken_.cancels[i])) {
      parts_.answers.end(*request, FinishReason::kCancelled);
    } else {
      parts_.requests.unpin(taken_.cancels[i]);
    }
  }
  taken_.cancels.clear();
  return true;
}

}  // namespace octavo
