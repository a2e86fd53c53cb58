#include "server/engine_host.h"

#include <exception>
#include <iterator>

#include "base/started_thread.h"

namespace octavo::server {
namespace {

constexpr std::size_t kMaxMessage = 500;
constexpr std::string_view kNotLoaded = "cannot load the model", kEnded = "the engine ended with an error";

}  // namespace

void EngineHost::start() {
  error_.message.reserve(kMaxMessage);
  begin_ = kNotLoaded;
  try {
    thread_ = start_thread([this](const std::stop_token& stop) { run(stop); },
                           [this](const Error& error) { fail_with(error); });
  } catch (const std::exception&) {  // the system refuses a thread
    fail_with(error_of_exception());
  }
}

void EngineHost::stop() {
  if (!thread_.joinable()) return;
  thread_.request_stop();
  thread_.join();
}

void EngineHost::change(State state) {
  state_.store(state, std::memory_order_release);
  on_change_();
}

/// Notes a failure. There may be no memory: the message's room was taken before.
void EngineHost::fail_with(const Error& error) {
  error_.message.clear();
  fmt::format_to_n(std::back_inserter(error_.message), kMaxMessage, "{}: {}", begin_, error.message);
  change(State::kFailed);
}

void EngineHost::run(const std::stop_token& stop) {
  auto engine = load_(stop);
  if (!engine) {
    error_ = std::move(engine.error());
    return change(State::kFailed);
  }
  engine_ = std::move(*engine);
  begin_ = kEnded;
  change(State::kServing);
  engine_->run_until(stop);
  change(State::kEnded);
}

void ProgressWatch::update(const EngineStats& stats, Clock::time_point now) {
  const bool has_work = stats.running + stats.waiting > 0;
  if (last_progress_ && has_work && stats.steps == steps_) return;
  steps_ = stats.steps;
  last_progress_ = now;
}

}  // namespace octavo::server
