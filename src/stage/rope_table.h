// What layers make of a step's positions: tables of cosines and sines for the layers that rotate heads alike, and the
// factor of the scores.
//
// Angles are made in float64, once a step, by the processor for every device. Owned by a stage; the threads of a step
// fill different rows.
#pragma once

#include <span>
#include <vector>

#include "base/aligned_buffer.h"
#include "base/math.h"
#include "base/thread_pool.h"
#include "kernels/kernels.h"
#include "model/batch.h"
#include "model/layer_spec.h"

namespace octavo {

class RopeTable {
 public:
  /// Takes the memory for batches of up to `max_rows` rows. `factors`: [num_rotated / 2], divisors of the frequencies;
  /// nullptr: none.
  RopeTable(const RopeSpec& spec, const float* factors, Math math, int max_rows);

  const RopeSpec& spec() const { return spec_; }
  /// The cosines of the first rows of the batch, [rows, num_rotated / 2].
  std::span<const float> cosines(std::size_t rows) const { return {cosines_.data(), rows * frequencies_.size()}; }
  std::span<const float> sines(std::size_t rows) const { return {sines_.data(), rows * frequencies_.size()}; }
  /// Computes the angles of row `row` of the batch, at `position`.
  void fill(std::int64_t row, const RopePosition& position);
  /// Rotates the first num_rotated dimensions of a head of that row.
  void rotate(const KernelTable& kernels, std::int64_t row, float* head) const {
    const auto rope = spec_.layout == RopeLayout::kNeighbours ? kernels.rope_neighbours : kernels.rope_halves;
    const std::int64_t angles = row * (spec_.num_rotated / 2);
    rope(head, cosines_.data() + angles, sines_.data() + angles, spec_.num_rotated);
  }

 private:
  RopeSpec spec_;
  Math math_;
  std::vector<double> frequencies_;                 // [num_rotated / 2] in radians per position
  std::vector<std::int32_t RopePosition::*> axes_;  // [num_rotated / 2] the coordinate that turns each pair
  AlignedBuffer<float> cosines_, sines_;            // [rows, num_rotated / 2]
};

/// The tables of a stage's layers.
class RopeTables {
 public:
  RopeTables(Math math, int max_rows) : math_(math), max_rows_(max_rows) {}

  /// Adds a layer with `spec` and gives the number of the table that has its angles. `factors`: the model's, if it has
  /// any.
  std::size_t add(const RopeSpec& spec, const float* factors);
  std::size_t size() const { return tables_.size(); }
  const RopeTable& operator[](std::size_t number) const { return tables_[number]; }
  /// Computes the angles of all rows of a batch on all threads, once a step.
  void fill(const Batch& batch, ThreadPool& pool);

 private:
  Math math_;
  int max_rows_;
  std::vector<RopeTable> tables_;
};

/// The factor of the scores of a row at `position`.
float score_scale(const AttentionSpec& spec, Math math, int position);

}  // namespace octavo
