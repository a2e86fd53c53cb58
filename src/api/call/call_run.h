// The prompts of one call as they go through an engine: they are submitted in order, some at a time, until all have
// ended or the call is cancelled.
//
// Any thread may call it. The engine is not touched any more once all that was submitted has ended and nothing more
// will be submitted.
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

/// The deadline of a request that is submitted after its deadline: the engine then says that it has passed.
inline constexpr double kLeastDeadlineS = 1e-3;

/// The prompts of a call, and how they become requests.
struct CallPrompts {
  static constexpr std::size_t kAnyNumber = std::numeric_limits<std::size_t>::max();

  std::vector<std::size_t> num_tokens = {};  // the tokens of each prompt
  int num_choices = 1;                       // the choices of each prompt
  /// Makes the request of a prompt; called again where the engine's queue had no room. No lock is held.
  std::function<Result<Request>(std::size_t prompt)> make = {};
  /// The engine's callback, which must not throw. An end is counted before this is called, so that it may call go_on().
  std::function<void(std::size_t prompt, const TokenEvent& event)> on_event = {};
  /// The most prompts that the engine has at once, and the most tokens in them unless it is one prompt alone. With
  /// these bounds, a full queue is waited for as long as one of the call's prompts runs.
  std::size_t most_at_once = kAnyNumber, most_tokens_at_once = kAnyNumber;
};

/// The prompts of a call, without an `on_event`; those for vectors go to the engine some at a time. `call` outlives it.
CallPrompts prompts_of(CompletionCall& call);

class CallRun {
 public:
  CallRun(Engine& engine, CallPrompts prompts);
  CallRun(const CallRun&) = delete;
  CallRun& operator=(const CallRun&) = delete;

  /// Submits as many prompts as the bounds allow; where another thread is doing so, it returns at once. `owner` owns
  /// this object, and the engine's callbacks hold it. Deadlines of later requests count from the first submission.
  /// Errors: those of `make`; the engine does not take a prompt, and no end of another one will come; the call was
  /// cancelled meanwhile, and prompts are left of which the engine will never hear (kStopped).
  Result<void> go_on(const std::shared_ptr<void>& owner);
  /// Removes the bounds.
  void drop_bounds();
  /// Makes this the last submission: nothing more is submitted.
  void stop();
  /// Cancels the requests that were submitted, or are being so, and submits nothing more. True: prompts are left of
  /// which the engine will never hear. Throws the engine's first exception after all requests were tried.
  bool cancel();

  bool is_stopped() const { return is_stopped_; }
  bool is_bounded() const;
  /// How many prompts the engine has got or is just getting.
  std::size_t num_submitted() const;
  /// The choices of the prompts that were submitted.
  std::size_t num_choices() const { return num_submitted() * to_size(prompts_.num_choices); }
  /// Whether prompts are still to be submitted.
  bool has_left() const;
  /// The engine's numbers of the prompts that it has got; the number of one that has ended is always known.
  std::vector<RequestId> requests() const;

 private:
  using Clock = std::chrono::steady_clock;

  struct Prompt {
    RequestId id = 0;      // 0: not known yet
    int choices_left = 0;  // the choices of a prompt in work that have not ended
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
  std::atomic<bool> is_stopped_ = false;            // written under the mutex
  mutable std::mutex mutex_;                        // guards all other members, and the bounds
  std::vector<Prompt> states_;                      // one for each prompt
  bool is_under_way_ = false;                       // a thread is in go_on()
  std::size_t next_ = 0;                            // the next prompt to submit
  std::size_t num_open_ = 0, num_tokens_open_ = 0;  // the prompts in work, and their tokens
};

}  // namespace octavo
