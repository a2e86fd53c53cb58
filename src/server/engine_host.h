// An engine and its thread: it loads the engine, then drives it in Engine::run_until() until that ends or throws. Owned
// by the server; the I/O thread calls, except where noted.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string_view>
#include <thread>

#include "base/error.h"
#include "octavo/engine.h"

namespace octavo::server {

/// Loads an engine. It ends soon, with an error, once the stop is asked for.
using LoadEngine = std::function<Result<std::unique_ptr<Engine>>(std::stop_token)>;

class EngineHost {
 public:
  enum class State : std::uint8_t { kLoading, kServing, kFailed, kEnded };

  /// `on_change` is called on the engine's thread, after state() has changed; it must not throw.
  EngineHost(LoadEngine load, std::function<void()> on_change)
      : load_(std::move(load)), on_change_(std::move(on_change)) {}
  ~EngineHost() { stop(); }

  void start();
  /// Stops the load or, at the end of its step, the engine, and waits for that.
  void stop();

  State state() const { return state_.load(std::memory_order_acquire); }  // any thread
  /// The engine, from kServing on; null before. After a failure, only its destructor may be relied on.
  Engine* engine() const { return state() == State::kLoading ? nullptr : engine_.get(); }
  /// Whether it could not be loaded, or has ended with an exception. Any thread.
  bool failed() const { return state() == State::kFailed; }
  /// The reason for kFailed.
  const Error& error() const { return error_; }

 private:
  void run(const std::stop_token& stop);
  void change(State state);
  void fail_with(const Error& error);

  LoadEngine load_;
  std::function<void()> on_change_;
  std::unique_ptr<Engine> engine_;  // written before state_ leaves kLoading
  Error error_;
  std::string_view begin_ = {};  // the beginning of the error that an exception becomes
  std::atomic<State> state_{State::kLoading};
  std::jthread thread_;
};

/// Whether the engine makes progress: it has finished a step, or had nothing to do, within a set time.
class ProgressWatch {
 public:
  using Clock = std::chrono::steady_clock;
  explicit ProgressWatch(std::chrono::milliseconds limit) : limit_(limit) {}

  void update(const EngineStats& stats, Clock::time_point now);
  /// Begins anew, for another engine.
  void restart() {
    steps_ = 0;
    last_progress_.reset();
  }
  bool stalled(Clock::time_point now) const {
    return limit_.count() > 0 && last_progress_ && now - *last_progress_ > limit_;
  }

 private:
  std::chrono::milliseconds limit_;
  std::uint64_t steps_ = 0;
  std::optional<Clock::time_point> last_progress_;  // none before the first update()
};

}  // namespace octavo::server
