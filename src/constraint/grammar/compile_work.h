// The work of one compile in counted steps: the bound of the work, and the question whether somebody still waits for
// the result.
//
// The compiler owns one and hands it to every unit that reads, expands, multiplies or lays down. A unit counts a step
// for each thing that it looks at, and leaves off when add() says so: its result has no meaning then, and the error is
// error()'s. One thread counts; any thread may ask the token to stop.
#pragma once

#include <cstdint>
#include <stop_token>
#include <utility>

#include "base/error.h"

namespace octavo {

/// The work to which a bound or a stop put an end, as errors name it.
inline constexpr std::string_view kCompiling = "the compiling of the constraint";

class CompileWork {
 public:
  /// Some 2 s of one core, by the slowest kinds of steps.
  static constexpr std::uint64_t kMaxSteps = std::uint64_t{1} << 26;
  static constexpr std::uint64_t kStepsBetweenLooks = 1 << 14;  // steps between looks at the token, well below 1 ms

  explicit CompileWork(std::stop_token stop = {}, std::uint64_t max_steps = kMaxSteps)
      : stop_(std::move(stop)), max_steps_(max_steps) {}
  CompileWork(const CompileWork&) = delete;
  CompileWork& operator=(const CompileWork&) = delete;

  /// Counts steps. False: the compile must end.
  bool add(std::uint64_t num_steps = 1) {
    num_steps_ += num_steps;
    return num_steps_ < next_look_ ? !has_ended_ : look();
  }
  /// Whether the compile may go on, without a count, between its phases.
  bool may_go_on() { return look(); }
  bool has_ended() const { return has_ended_; }
  std::uint64_t num_steps() const { return num_steps_; }

  /// The reason why the compile must end: a stop (kStopped), or the bound and the work that passed it.
  Error error() const;

 private:
  bool look();

  const std::stop_token stop_;
  const std::uint64_t max_steps_;
  std::uint64_t num_steps_ = 0, next_look_ = 0;
  bool has_ended_ = false;
};

}  // namespace octavo
