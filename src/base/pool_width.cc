#include "base/pool_width.h"

#include <algorithm>
#include <utility>

namespace octavo {
namespace {

constexpr double kRememberedMs = 100;  // of a width's steps, after which they have faded to a third
constexpr double kManyWaited = 0.2;    // of a step's time: a narrower width may be faster
constexpr double kSlow = 1.25;         // against what is foreseen: so it may
constexpr double kBetter = 0.95;       // of the time of the width before: what is less is worth a change
constexpr double kWorse = 1.5;         // of that time: a trial need not go on
constexpr double kTrialMs = 24;        // a system's slices of time are some milliseconds long
constexpr double kLongTrialMs = 100;
constexpr int kTrialSteps = 3;
constexpr int kMostStrideFactor = 4;

}  // namespace

void PoolWidth::Pause::restart(bool has_helped) {
  passed_ms = 0;
  ms = has_helped ? shortest_ms : std::min(2 * ms, longest_ms);
  stride_factor = has_helped || stride_factor >= kMostStrideFactor ? 1 : 2 * stride_factor;
}

/// Of many threads several at a time, or a large machine would take long to follow. Where that did not help, more may:
/// as long as there are more threads than a quota has CPUs, one less or two make no difference.
int PoolWidth::stride(const Pause& pause, int most) const {
  return std::clamp(pause.stride_factor * std::max(1, width_ / 8), 1, most);
}

void PoolWidth::observe(const StepTime& step) {
  if (step.foreseen_ms <= 0 || step.ms <= 0 || widest() == 1) return;
  Times& seen = times(width_);
  const double kept = is_trial() ? 1 : kRememberedMs / (kRememberedMs + step.ms);
  seen.ms = kept * seen.ms + step.ms;
  seen.foreseen_ms = kept * seen.foreseen_ms + step.foreseen_ms;
  seen.waited_ms = kept * seen.waited_ms + step.waited_ms;
  if (is_trial()) {
    ++trial_steps_;
    return end_trial_if_over();
  }
  narrower_.passed_ms += step.ms;
  wider_.passed_ms += step.ms;
  try_another();
}

void PoolWidth::try_another() {
  const Times& seen = times(width_);
  if (seen.ms < kTrialMs) return;  // nothing to compare with
  const bool may_gain = seen.waited_ms > kManyWaited * seen.ms || seen.slowness() > kSlow;
  if (width_ > 1 && may_gain && narrower_.is_over()) {
    begin_trial(width_ - stride(narrower_, (width_ + 1) / 2));
  } else if (width_ < widest() && wider_.is_over()) {
    begin_trial(width_ + stride(wider_, widest() - width_));
  }
}

void PoolWidth::begin_trial(int width) {
  trial_of_ = std::exchange(width_, width);
  trial_steps_ = 0;
  times(width_) = {};
}

void PoolWidth::end_trial_if_over() {
  const Times& tried = times(width_);
  const double before = times(trial_of_).slowness(), now = tried.slowness();
  const bool is_long = tried.ms >= kLongTrialMs || (trial_steps_ >= kTrialSteps && tried.ms >= kTrialMs);
  if (!is_long && now < kWorse * before) return;
  const bool has_helped = is_long && now < kBetter * before;
  (width_ < trial_of_ ? narrower_ : wider_).restart(has_helped);
  if (has_helped) {  // the other way was not what helped
    (width_ < trial_of_ ? wider_ : narrower_).restart(false);
  } else {
    width_ = trial_of_;
  }
  trial_of_ = 0;
}

}  // namespace octavo
