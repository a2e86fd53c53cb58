#include "api/call/call_run.h"

#include <algorithm>
#include <exception>
#include <new>
#include <utility>

#include "api/call/vector_call.h"
#include "base/error.h"

namespace octavo {

CallPrompts prompts_of(CompletionCall& call) {
  CallPrompts prompts{.num_choices = call.n};
  for (const Request& request : call.requests) prompts.num_tokens.push_back(request.tokens.size());
  if (call.vectors) {
    prompts.most_at_once = kMaxTextsAtOnce;
    prompts.most_tokens_at_once = kMaxTokensAtOnce;
    prompts.make = [&call](std::size_t prompt) -> Result<Request> { return call.requests[prompt]; };
  } else {
    prompts.make = [&call](std::size_t prompt) -> Result<Request> { return std::move(call.requests[prompt]); };
  }
  return prompts;
}

CallRun::CallRun(Engine& engine, CallPrompts prompts)
    : engine_(engine), prompts_(std::move(prompts)), states_(prompts_.num_tokens.size()) {}

bool CallRun::has_turn() const {
  if (is_stopped_ || next_ == states_.size()) return false;
  return num_open_ == 0 || (num_open_ < prompts_.most_at_once &&
                            num_tokens_open_ + prompts_.num_tokens[next_] <= prompts_.most_tokens_at_once);
}

// The lock is not held while the engine is called, as its callbacks take it. So cancel() cannot see the request that is
// just being submitted: it is cancelled here, afterwards.
Result<void> CallRun::go_on(const std::shared_ptr<void>& owner) {
  std::unique_lock lock(mutex_);
  if (std::exchange(is_under_way_, true)) return {};
  Result<void> done;
  RequestId late = 0;
  bool waits = false;
  while (done && !waits && has_turn()) {
    const std::size_t prompt = next_;
    begin(prompt);
    lock.unlock();
    const Result<RequestId> id = submit(prompt, owner);
    lock.lock();
    if (id) {
      states_[prompt].id = *id;
      if (is_stopped_) late = *id;
      continue;
    }
    end(prompt);
    next_ = prompt;
    waits = id.error().kind == ErrorKind::kQueueFull && has_bounds() && num_open_ > 0;
    if (!waits) done = std::unexpected(id.error());
  }
  if (waits && is_stopped_) done = fail_as(ErrorKind::kStopped, "the call was cancelled");
  is_under_way_ = false;
  lock.unlock();
  if (late != 0) engine_.cancel(late);
  return done;
}

/// Submits a prompt. Nothing may be thrown: go_on() may have been called from an engine's callback.
Result<RequestId> CallRun::submit(std::size_t prompt, const std::shared_ptr<void>& owner) {
  try {
    OCTAVO_TRY(Request request, prompts_.make(prompt));
    const double passed = std::chrono::duration<double>(Clock::now() - begin_).count();
    if (prompt > 0 && request.deadline_s > 0)
      request.deadline_s = std::max(kLeastDeadlineS, request.deadline_s - passed);
    return engine_.submit(std::move(request), [this, owner, prompt](const TokenEvent& event) {
      count(prompt, event);
      prompts_.on_event(prompt, event);
    });
  } catch (const std::bad_alloc&) {
    return fail_as(ErrorKind::kOutOfMemory, "the system had no memory for the request");
  }
}

void CallRun::begin(std::size_t prompt) {
  ++next_;
  ++num_open_;
  num_tokens_open_ += prompts_.num_tokens[prompt];
  states_[prompt].choices_left = prompts_.num_choices;
}

void CallRun::end(std::size_t prompt) {
  --num_open_;
  num_tokens_open_ -= prompts_.num_tokens[prompt];
  states_[prompt].choices_left = 0;
}

// The number is set here, too: a request may end before submit() returns its number.
void CallRun::count(std::size_t prompt, const TokenEvent& event) {
  if (event.finish == FinishReason::kNone) return;
  const std::lock_guard lock(mutex_);
  Prompt& state = states_[prompt];
  if (state.id == 0) state.id = event.request;
  if (--state.choices_left == 0) end(prompt);
}

void CallRun::drop_bounds() {
  const std::lock_guard lock(mutex_);
  prompts_.most_at_once = prompts_.most_tokens_at_once = CallPrompts::kAnyNumber;
}

/// The number of the first request from `prompt` on that has choices left; `prompt` moves behind it. 0: there is none.
RequestId CallRun::next_in_work(std::size_t& prompt) const {
  const std::lock_guard lock(mutex_);
  while (prompt < next_) {
    const Prompt& state = states_[prompt++];
    if (state.choices_left > 0 && state.id != 0) return state.id;
  }
  return 0;
}

void CallRun::stop() {
  const std::lock_guard lock(mutex_);
  is_stopped_ = true;
}

bool CallRun::cancel() {
  stop();
  std::exception_ptr failure;
  std::size_t prompt = 0;
  while (const RequestId id = next_in_work(prompt)) {
    try {
      engine_.cancel(id);
    } catch (const std::exception&) {
      failure = failure ? failure : std::current_exception();
    }
  }
  if (failure) std::rethrow_exception(failure);
  const std::lock_guard lock(mutex_);
  return next_ < states_.size();
}

std::size_t CallRun::num_submitted() const {
  const std::lock_guard lock(mutex_);
  return next_;
}

bool CallRun::has_left() const {
  const std::lock_guard lock(mutex_);
  return !is_stopped_ && next_ < states_.size();
}

bool CallRun::is_bounded() const {
  const std::lock_guard lock(mutex_);
  return has_bounds();
}

std::vector<RequestId> CallRun::requests() const {
  std::vector<RequestId> ids;
  const std::lock_guard lock(mutex_);
  for (const Prompt& state : states_)
    if (state.id != 0) ids.push_back(state.id);
  return ids;
}

}  // namespace octavo
