// The prompts of one call on their way through an engine: they are submitted in their order, some at a time, until all
// have ended or the call is cancelled.
//
// Any thread may call it. It touches the engine no more when all that it has submitted has ended and nothing else will
// be.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <functional>
#include <limits>
#include <memory>
#include <mutex>
#include <vector>

#include "api/call/completion.h"
#include "base/to_size.h"
#include "octavo/engine.h"

namespace octavo {

/// The shortest time that is left to a request whose deadline is over: the engine tells that.
inline constexpr double kLeastDeadlineS = 1e-3;

/// What a call wants to have computed.
struct CallPrompts {
  static constexpr std::size_t kAnyNumber = std::numeric_limits<std::size_t>::max();

  std::vector<std::size_t> num_tokens = {};  // of each prompt
  int num_choices = 1;                       // of a prompt
  /// The request of a prompt; it is asked for again where the engine's queue had no room. No lock is held.
  std::function<Result<Request>(std::size_t prompt)> make = {};
  /// The engine's callback, which must not throw. An end is counted before it is told, so that go_on() may follow here.
  std::function<void(std::size_t prompt, const TokenEvent& event)> on_event = {};
  /// The most prompts that the engine has at once, and tokens in them, unless it is one prompt alone. Within bounds a
  /// full queue is waited for as long as a prompt of the call's is in work.
  std::size_t most_at_once = kAnyNumber, most_tokens_at_once = kAnyNumber;
};

/// The requests of a call, without an `on_event`; those for vectors some at a time. The call outlives them.
CallPrompts prompts_of(CompletionCall& call);

class CallRun {
 public:
  CallRun(Engine& engine, CallPrompts prompts);
  CallRun(const CallRun&) = delete;
  CallRun& operator=(const CallRun&) = delete;

  /// Submits as many as may be in work; where another thread is about it, that one does. `owner` has this, and the
  /// engine's callbacks hold it. A request's deadline counts from the first one's on. Errors: those of `make`; the
  /// engine does not take a prompt, and no end of another one comes; the call was cancelled meanwhile, and prompts are
  /// left of which the engine will never hear (kStopped).
  Result<void> go_on(const std::shared_ptr<void>& owner);
  /// From now on there are no bounds.
  void drop_bounds();
  /// Submits nothing more.
  void stop();
  /// Ends what is in work, or on its way there, and submits nothing more. True: prompts are left of which the engine
  /// will never hear. The first exception of the engine's passes when all have been tried.
  bool cancel();

  bool is_stopped() const { return is_stopped_; }
  bool is_bounded() const;
  /// Prompts that the engine has got, or has just now.
  std::size_t num_submitted() const;
  /// Choices of these.
  std::size_t num_choices() const { return num_submitted() * to_size(prompts_.num_choices); }
  /// Prompts are still to be submitted.
  bool has_left() const;
  /// The engine's numbers of prompts that it has got; of one that has ended in any case.
  std::vector<RequestId> requests() const;

 private:
  using Clock = std::chrono::steady_clock;

  struct Prompt {
    RequestId id = 0;      // 0: not known yet
    int choices_left = 0;  // of one in work
  };

  bool has_bounds() const { return prompts_.most_at_once != CallPrompts::kAnyNumber; }
  bool has_turn() const;
  Result<RequestId> submit(std::size_t prompt, const std::shared_ptr<void>& owner);
  void begin(std::size_t prompt);
  void end(std::size_t prompt);
  void count(std::size_t prompt, const TokenEvent& event);
  RequestId next_in_work(std::size_t& prompt) const;

  Engine& engine_;
  CallPrompts prompts_;
  const Clock::time_point begin_ = Clock::now();
  std::atomic<bool> is_stopped_ = false;            // written with the lock
  mutable std::mutex mutex_;                        // of the rest, and of the bounds
  std::vector<Prompt> states_;                      // of each prompt
  bool is_under_way_ = false;                       // some thread is in go_on()
  std::size_t next_ = 0;                            // prompt that goes to the engine
  std::size_t num_open_ = 0, num_tokens_open_ = 0;  // prompts in work, and their tokens
};

}  // namespace octavo
