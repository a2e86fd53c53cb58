// The processor time that writes may take: a share of the time that passes, and some in advance after a rest.
//
// What is measured is charged after the fact, so that a large write may leave a debt; nothing is allowed until it is
// paid. A value; whoever shares it between threads locks it.
#pragma once

#include <algorithm>

namespace octavo {

class WriteBudget {
 public:
  /// `share`: seconds of one processor a second.
  explicit WriteBudget(double share) : share_(share) {}

  /// There is time left for one more write when those that wait, `bytes` together, are done. `now_s` never goes back.
  bool allows(double now_s, double bytes) {
    left_s_ = std::min(kMostInAdvance_s, left_s_ + share_ * (now_s - filled_s_));
    filled_s_ = now_s;
    return left_s_ > bytes * cost_s_;
  }
  void charge(double seconds, double bytes) {
    left_s_ -= seconds;
    if (bytes >= kFewBytes) cost_s_ += kWeightOfLast * (seconds / bytes - cost_s_);
  }

  static constexpr double kMostInAdvance_s = 0.5;  // a GB, or so

 private:
  static constexpr double kFewBytes = 256 * 1024;  // of fewer, the file itself is the cost
  static constexpr double kWeightOfLast = 0.25;

  const double share_;
  double left_s_ = kMostInAdvance_s, filled_s_ = 0;
  double cost_s_ = 0.5e-9;  // of a byte, until it is known
};

}  // namespace octavo
