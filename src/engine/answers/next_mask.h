// The mask of a choice's next token: the tokens that its constraint allows, once they are known.
//
// Part of a Choice; only the thread that drives the engine may touch it. Another thread works on a job's own state.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "constraint/constraint_state.h"

namespace octavo {

struct Choice;

/// A mask that is found outside of steps, from copies of all that it depends on.
struct MaskJob {
  Choice* choice = nullptr;  // used by the thread that drives the engine; null: nobody wants the mask any more
  std::string owner = {};    // the request's owner
  ConstraintState state = {};
  std::vector<MaskWord> bits = {};
  FoundMask found = {};
  std::atomic<bool> is_dropped = false;  // the walk stops when this is set
  bool has_failed = false;               // there was no memory for the mask
  std::atomic<bool> is_done = false;     // bits, found and has_failed are written
};

struct NextMask {
  enum class State : std::uint8_t {
    kUnknown,
    kOutside,  // a job finds it
    kReady,
    kTooLarge,  // finding it takes more steps than are allowed
    kFailed,    // there was no memory to find it
  };
  State state = State::kUnknown;
  std::vector<MaskWord> bits = {};
  std::uint64_t work = 0;  // the steps that it counts for
  std::shared_ptr<MaskJob> job = {};

  /// Takes the result of a search, with or without a mask.
  void set(const FoundMask& found) {
    state = found ? State::kReady : State::kTooLarge;
    work = found.work;
  }
  /// Drops the mask: the choice has moved on, or ended.
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
