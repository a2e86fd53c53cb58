// The joint passes of pictures whose rows see each other: one at a time, piece by piece between steps.
//
//     Step: begin_next() ─ the first sequence whose next rows need one ─▶ advance(), once a step ─▶ is_whole()
//           plan_end() ─ a step of its own, which accepts all rows, draws and publishes as any other does
//
// Until then none of the rows counts as computed. So whoever cancels or preempts the sequence ends the pass, and has
// nothing to undo. Owned by Step; only the thread that drives the engine may call it.
#pragma once

#include <chrono>
#include <cstdint>
#include <vector>

#include "engine/drive/step_parts.h"

namespace octavo {

class JointPasses {
 public:
  explicit JointPasses(const StepParts& parts);

  /// Whether a pass is under way; one whose sequence has left, or lost it, is forgotten.
  bool is_under_way();
  bool is_whole() const { return is_whole_; }
  /// The sequence of the pass that is under way.
  Sequence& sequence() const { return *sequence_; }

  /// Begins the next pass if none is under way, after `plan` was scheduled and before it is computed. Throws
  /// std::bad_alloc as Scheduler::schedule() does.
  void begin_next(const StepPlan& plan);
  /// Computes a piece, in a step of the pool. `others_wait`: somebody waits for a next token. False: the system has no
  /// memory for the pass.
  bool advance(bool others_wait);
  /// Plans the step that ends the pass.
  void plan_end(StepPlan& plan);
  /// The time that the last piece took.
  std::chrono::steady_clock::duration took() const { return took_; }

 private:
  void learn(const JointPiece& piece, double ms, bool others_wait);

  const StepParts parts_;
  Sequence* sequence_ = nullptr;  // null: no pass is under way
  RequestId id_ = 0;
  int choice_ = 0;
  bool has_begun_ = false;  // the runner has the rows
  bool is_whole_ = false;
  std::vector<BlockCopy> copies_;  // to be made before the first piece
  JointWork work_a_piece_;         // multiply-adds
  std::chrono::steady_clock::duration took_ = {};
};

}  // namespace octavo
