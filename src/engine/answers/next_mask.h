// The tokens that a choice's constraint allows next, once they are known.
//
// Part of a Choice; only the thread that drives the engine may touch it, but for a job's own state.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "constraint/constraint_state.h"

namespace octavo {

struct Choice;

/// A mask that is found outside of the steps, from copies of what it depends on.
struct MaskJob {
  Choice* choice = nullptr;  // of the thread that drives the engine; null: nobody wants it any more
  std::string owner = {};    // of its request
  ConstraintState state = {};
  std::vector<MaskWord> bits = {};
  FoundMask found = {};
  std::atomic<bool> is_dropped = false;  // asked by the walk
  bool has_failed = false;               // there was no memory for it
  std::atomic<bool> is_done = false;     // bits, found and has_failed are written
};

struct NextMask {
  enum class State : std::uint8_t {
    kUnknown,
    kOutside,  // a job finds it
    kReady,
    kTooLarge,  // it took more steps than it may
    kFailed,    // no memory was left to find it
  };
  State state = State::kUnknown;
  std::vector<MaskWord> bits = {};
  std::uint64_t work = 0;  // steps that it counts for
  std::shared_ptr<MaskJob> job = {};

  /// Becomes a mask that was found, or was not for its work.
  void set(const FoundMask& found) {
    state = found ? State::kReady : State::kTooLarge;
    work = found.work;
  }
  /// The choice has moved on, or ended.
  void drop() {
    state = State::kUnknown;
    work = 0;
    if (job == nullptr) return;
    job->choice = nullptr;
    job->is_dropped = true;
    job = nullptr;
  }
};

}  // namespace octavo
