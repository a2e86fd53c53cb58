// The processor time that writes may take: a share of the time in which somebody computes, half of the time in which
// nobody has computed for a while, and a little in advance.
//
// What is measured is charged after the fact, so that a large write may leave a debt; nothing is allowed until it is
// paid. A value; whoever shares it between threads locks it.
#pragma once

#include <algorithm>
#include <limits>

namespace octavo {

class WriteBudget {
 public:
  /// `share`: the processor seconds that writes may take per second.
  explicit WriteBudget(double share) : share_(share) {}

  /// Notes that somebody computes from now on, or nobody. `now_s` never goes back, also in the next function.
  void set_busy(double now_s, bool is_busy) {
    fill(now_s);
    rests_from_s_ = is_busy ? kNever : now_s + kWhile_s;
  }
  /// Whether there is time for one more write after those that wait, which have `bytes` together.
  bool allows(double now_s, double bytes) {
    fill(now_s);
    return left_s_ > bytes * cost_s_;
  }
  void charge(double seconds, double bytes) {
    left_s_ -= seconds;
    if (bytes >= kFewBytes) cost_s_ += kWeightOfLast * (seconds / bytes - cost_s_);
  }

 private:
  static constexpr double kMostInAdvance_s = 0.1;  // enough for some 200 MB
  static constexpr double kIdleShare = 0.5;
  static constexpr double kWhile_s = 0.2;  // requests that follow each other within this time leave no rest
  static constexpr double kNever = std::numeric_limits<double>::infinity();
  static constexpr double kFewBytes = 256 * 1024;  // below it, the cost is that of the file itself
  static constexpr double kWeightOfLast = 0.25;

  void fill(double now_s) {
    const double rest_s = std::max(0.0, now_s - std::max(filled_s_, rests_from_s_));
    const double gained_s = share_ * (now_s - filled_s_ - rest_s) + std::max(share_, kIdleShare) * rest_s;
    left_s_ = std::min(kMostInAdvance_s, left_s_ + gained_s);
    filled_s_ = now_s;
  }

  const double share_;
  double rests_from_s_ = 0;  // since then nobody has computed for a while
  double left_s_ = kMostInAdvance_s, filled_s_ = 0;
  double cost_s_ = 0.5e-9;  // the seconds per byte, until they are measured
};

}  // namespace octavo
