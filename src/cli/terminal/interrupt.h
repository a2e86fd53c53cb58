// Ctrl-C while an answer is made: it is noted, and the generate loop stops at the end of the step.
#pragma once

#include <csignal>

namespace octavo::cli {

/// While one lives, the first SIGINT is noted, and a second one ends the process, in case a step takes too long. One at
/// a time; the main thread.
class InterruptGuard {
 public:
  InterruptGuard();
  ~InterruptGuard();
  InterruptGuard(const InterruptGuard&) = delete;
  InterruptGuard& operator=(const InterruptGuard&) = delete;

  bool interrupted() const;

 private:
  struct sigaction previous_;
};

}  // namespace octavo::cli
