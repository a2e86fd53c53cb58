#include "base/step_clock.h"

namespace octavo {
namespace {

double seconds(StepClock::Clock::duration time) { return std::chrono::duration<double>(time).count(); }

}  // namespace

void StepClock::switch_to(StepPart part) {
  const Clock::time_point now = Clock::now();
  if (since_ != Clock::time_point()) {
    const double passed = seconds(now - since_);
    present().seconds += passed;
    present().working_seconds += passed / num_threads_;  // the caller's time; add_region() adds the other threads'
  }
  since_ = now;
  part_ = part;
}

void StepClock::add_region(Clock::duration caller_waited, Clock::duration others_worked) {
  present().working_seconds += seconds(others_worked - caller_waited) / num_threads_;
}

}  // namespace octavo
