// How many threads of a pool take part in its steps: fewer while somebody else has CPUs of the machine.
//
// One rule, whatever it is that takes them, a process beside this one, a quota, a hot processor, a CPU that goes away:
// steps have the width at which they have lately taken the least time for their work. Where threads are waited for, or
// steps take longer than is foreseen of them, a narrower width is tried for some steps; a wider one is tried now and
// then. What did not help is tried again after twice the time. No list of processors and no file of the system is read.
//
// Owned by a thread pool, and used by the thread whose step has it. Nothing allocates after construction.
#pragma once

#include <vector>

#include "base/to_size.h"

namespace octavo {

class PoolWidth {
 public:
  /// `widest`: the pool's threads, at least 1, which is the first width.
  explicit PoolWidth(int widest) : times_(to_size(widest)), width_(widest) {}

  /// Threads of the next step, the caller's included.
  int width() const { return width_; }
  /// Whether that width is only tried.
  bool is_trial() const { return trial_of_ != 0; }

  /// What a step of width() took.
  struct StepTime {
    double ms = 0;           // more than 0
    double foreseen_ms = 0;  // by a model of a pool that has the machine to itself; 0: nobody knows
    double waited_ms = 0;    // of its time, for which the caller waited for others
  };
  void observe(const StepTime& step);

 private:
  /// Steps of a width, whose older ones fade.
  struct Times {
    double ms = 0, foreseen_ms = 0, waited_ms = 0;
    double slowness() const { return foreseen_ms > 0 ? ms / foreseen_ms : 0; }
  };
  /// Time to pass before a direction is tried again, and then with a longer stride.
  struct Pause {
    double shortest_ms, longest_ms;
    double ms = shortest_ms;  // at present
    double passed_ms = 0;
    int stride_factor = 1;

    bool is_over() const { return passed_ms >= ms; }
    void restart(bool has_helped);
  };

  Times& times(int width) { return times_[to_size(width - 1)]; }
  int widest() const { return static_cast<int>(times_.size()); }
  int stride(const Pause& pause, int most) const;
  void begin_trial(int width);
  void end_trial_if_over();
  void try_another();

  std::vector<Times> times_;  // [width - 1]
  int width_;
  int trial_of_ = 0;  // the width before the trial; 0: there is none
  int trial_steps_ = 0;
  Pause narrower_{.shortest_ms = 50, .longest_ms = 5000};
  Pause wider_{.shortest_ms = 200, .longest_ms = 2000};
};

}  // namespace octavo
