#include "server/engine_host.h"

namespace octavo::server {

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

void EngineHost::run(const std::stop_token& stop) {
  try {
    auto engine = load_();
    if (!engine) {
      error_ = std::move(engine.error());
      return change(State::kFailed);
    }
    engine_ = std::move(*engine);
  } catch (const std::exception& error) {
    error_.message = fmt::format("cannot load the model: {}", error.what());
    return change(State::kFailed);
  }
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
