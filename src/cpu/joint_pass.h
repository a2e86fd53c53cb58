// The rows of a picture that see each other, on their way through all layers together: a second pass over the same
// weights, in pieces, so that steps of others are computed between two of them.
//
// A piece is a part of one layer for some of the rows: their keys and values, which go into the sequence's blocks; or,
// once those of all rows are there, the rest of the layer. Between pieces the pass keeps the rows alone, in memory of
// its own; what a piece computes with is that of the steps. The numbers of a row depend neither on the size of pieces
// nor on what is computed between them. What gives it up has nothing to undo.
//
// Owned by the transformer; one thread at a time.
#pragma once

#include <cstdint>
#include <span>

#include "base/aligned_buffer.h"
#include "cpu/cpu_stage.h"
#include "cpu/residual_stream.h"
#include "model/batch.h"
#include "model/config.h"
#include "model/model_runner.h"
#include "stage/stage.h"
#include "stage/step_rows.h"

namespace octavo {

class JointPass {
 public:
  /// Takes the memory for passes of up to config.joint_rows rows, with pieces of up to `most_rows`. The stage must have
  /// all layers, none of them with a recurrent state. All references must outlive it.
  JointPass(const ModelConfig& config, CpuStage& stage, ResidualStream& stream, int most_rows);

  /// Begins with all rows of the batch, which are one sequence's and begin with given vectors. The pass before is given
  /// up. Throws std::bad_alloc where there is no memory for the tables of blocks; then no pass is under way.
  void begin(const Batch& batch);
  /// Computes the next piece, of about the most work of its part but at least eight rows. None if the pass is whole, or
  /// none was begun.
  JointPiece advance(const JointWork& most_work);

  /// A row behind the last layer, if the batch wanted its logits and the pass is whole.
  const float* row(std::int64_t row) const { return x_.data() + row * config_.width; }
  /// The findings of all pieces so far.
  StageFindings findings() const { return {expert_bytes_, of_first(not_finite_), of_first(is_spoiled_)}; }

 private:
  /// Rows begin .. end of the batch.
  struct Rows {
    int begin = 0, end = 0;
  };
  static constexpr std::int32_t kFirst[] = {0};
  static std::span<const std::int32_t> of_first(bool is_found) {
    return is_found ? std::span<const std::int32_t>(kFirst) : std::span<const std::int32_t>();
  }

  /// The rows that a part of the present layer computes: behind the last layer that writes state, only those whose
  /// logits are wanted.
  Rows rows_of_part() const;
  /// Goes to the next part that has rows.
  void find_part();
  std::uint64_t row_work() const;
  void compute(int first, int count);

  const ModelConfig& config_;
  CpuStage& stage_;
  ResidualStream& stream_;
  const int most_rows_;
  const int last_with_state_;
  AlignedBuffer<float> x_;  // [joint_rows, width]
  Batch batch_;             // the whole pass
  Batch piece_;             // the rows of a piece, with the tables of the whole
  StepRows rows_;
  int layer_;  // the number of layers: no pass is under way, or it is whole
  JointPart part_ = JointPart::kKeys;
  int row_ = 0;  // the next row of the part
  std::uint64_t expert_bytes_ = 0;
  bool not_finite_ = false, is_spoiled_ = false;
};

}  // namespace octavo
