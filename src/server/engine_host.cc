#include "server/engine_host.h"

#include <iterator>

namespace octavo::server {
namespace {

constexpr std::size_t kMaxMessage = 500;

}  // namespace

void EngineHost::start() {
  thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
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

/// There may be no memory: the message has its room already.
void EngineHost::fail_with(const char* begin, const char* why) {
  error_.message.clear();
  fmt::format_to_n(std::back_inserter(error_.message), kMaxMessage, "{}: {}", begin, why);
  change(State::kFailed);
}

bool EngineHost::load(const std::stop_token& stop) {
  error_.message.reserve(kMaxMessage);
  try {
    auto engine = load_(stop);
    if (engine) {
      engine_ = std::move(*engine);
      return true;
    }
    error_ = std::move(engine.error());
    change(State::kFailed);
  } catch (const std::exception& error) {
    fail_with("cannot load the model", error.what());
  }
  return false;
}

void EngineHost::run(const std::stop_token& stop) {
  if (!load(stop)) return;
  change(State::kServing);
  try {
    engine_->run_until(stop);
  } catch (const std::exception& error) {
    return fail_with("the engine ended with an error", error.what());
  }
  change(State::kEnded);
}

void ProgressWatch::update(const EngineStats& stats, Clock::time_point now) {
  const bool has_work = stats.running + stats.waiting > 0;
  if (last_progress_ && has_work && stats.steps == steps_) return;
  steps_ = stats.steps;
  last_progress_ = now;
}

}  // namespace octavo::server
