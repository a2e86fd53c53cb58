#include "engine/drive/joint_passes.h"

#include <algorithm>
#include <utility>

#include "base/to_size.h"
#include "engine/drive/batch_builder.h"

namespace octavo {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::uint64_t kFirstPiece = 20'000'000;  // multiply-adds, while the time of a piece is not known
constexpr double kMostGrowth = 2;                  // the most growth of a piece's work from one piece to the next
constexpr double kShareBesideOthers = 0.25;        // the part of the time between tokens that a piece takes
constexpr double kUntimedPieceMs = 50;

}  // namespace

JointPasses::JointPasses(const StepParts& parts) : parts_(parts), work_a_piece_{kFirstPiece, kFirstPiece} {}

bool JointPasses::is_under_way() {
  if (sequence_ != nullptr && !parts_.scheduler.is_in_joint_pass(sequence_, id_, choice_)) sequence_ = nullptr;
  return sequence_ != nullptr;
}

void JointPasses::begin_next(const StepPlan& plan) {
  if (is_under_way() || parts_.runner.info().joint_rows == 0) return;
  copies_.clear();
  sequence_ = parts_.scheduler.begin_joint_pass(plan, copies_);
  if (sequence_ == nullptr) return;
  id_ = sequence_->params.id;
  choice_ = sequence_->params.choice;
  has_begun_ = is_whole_ = false;
}

bool JointPasses::advance(bool others_wait) {
  const Clock::time_point begin = Clock::now();
  if (!has_begun_) {
    Batch& batch = parts_.plan.batch;
    build_joint_pass(batch, parts_.kv, *sequence_, copies_);
    if (!parts_.runner.begin_joint_pass(batch)) return false;
    has_begun_ = true;
  }
  const Clock::time_point computes = Clock::now();
  const JointPiece piece = parts_.runner.advance_joint_pass(work_a_piece_);
  took_ = Clock::now() - begin;
  is_whole_ = piece.work == 0;
  if (!is_whole_) learn(piece, std::chrono::duration<double, std::milli>(Clock::now() - computes).count(), others_wait);
  return true;
}

/// Fits the next piece of that part to the time that it may take. One that its layer's end has cut short says little of
/// how large it could have been.
void JointPasses::learn(const JointPiece& piece, double ms, bool others_wait) {
  const double step_ms = parts_.scheduler.limits().step_ms;
  const double wanted_ms = step_ms == 0 ? kUntimedPieceMs : step_ms * (others_wait ? kShareBesideOthers : 1);
  std::uint64_t& work = work_a_piece_[std::to_underlying(piece.part)];
  const double done = static_cast<double>(piece.work), asked = static_cast<double>(work);
  const double fitting = done * wanted_ms / std::max(ms, 1e-3);
  const bool was_cut = done < asked / 2;
  if (!was_cut || ms > wanted_ms)
    work = static_cast<std::uint64_t>(std::clamp(fitting, 1.0, kMostGrowth * std::max(done, asked)));
}

void JointPasses::plan_end(StepPlan& plan) {
  parts_.scheduler.schedule_joint_end(plan, *sequence_);
  sequence_ = nullptr;
}

}  // namespace octavo
