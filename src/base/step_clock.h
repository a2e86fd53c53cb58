// A clock that follows a step from part to part, and how long threads wait meanwhile.
//
// Owned by the engine; used by the thread that drives it, within whose steps the thread pool tells of its workers. A
// clock without a profile costs a comparison at each part.
#pragma once

#include <chrono>
#include <utility>

#include "octavo/step_profile.h"

namespace octavo {

class StepClock {
 public:
  using Clock = std::chrono::steady_clock;

  /// `profile`: the engine's, which outlives this; null: nothing is timed.
  StepClock(StepProfile* profile, int num_threads) : profile_(profile), num_threads_(num_threads) {}

  bool is_running() const { return profile_ != nullptr; }

  /// The part to which time now belongs.
  StepPart part() const { return part_; }
  /// Makes time from now on belong to `part`.
  void enter(StepPart part) {
    if (profile_ != nullptr) switch_to(part);
  }
  /// Adds a region of the present part: the time that the caller waited for the others, and the time that they worked.
  void add_region(Clock::duration caller_waited, Clock::duration others_worked);

 private:
  void switch_to(StepPart part);
  StepPartTime& present() { return profile_->parts[std::to_underlying(part_)]; }

  StepProfile* const profile_;
  const int num_threads_;
  StepPart part_ = StepPart::kBetween;
  Clock::time_point since_ = {};  // when the part was entered; zero before the first
};

}  // namespace octavo
