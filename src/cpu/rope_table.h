// Cosines and sines of a step's positions, for the layers whose heads are rotated alike.
//
// Angles are made in float64, once a step. Owned by the mixer; the threads of a step fill different rows.
#pragma once

#include <span>
#include <vector>

#include "cpu/compute_context.h"
#include "model/layer_spec.h"

namespace octavo {

class RopeTable {
 public:
  /// `factors`: [num_rotated / 2], which frequencies are divided by; nullptr: none.
  RopeTable(const RopeSpec& spec, const float* factors, const ComputeContext& context);

  const RopeSpec& spec() const { return spec_; }
  /// The numbers of the first rows of the batch, [rows, num_rotated / 2].
  std::span<const float> cosines(std::size_t rows) const { return {cosines_.data(), rows * frequencies_.size()}; }
  std::span<const float> sines(std::size_t rows) const { return {sines_.data(), rows * frequencies_.size()}; }
  /// The angles of row `row` of the batch, at `position`.
  void fill(std::int64_t row, int position);
  /// Rotates the first num_rotated dimensions of a head of that row.
  void rotate(const KernelTable& kernels, std::int64_t row, float* head) const {
    const auto rope = spec_.layout == RopeLayout::kNeighbours ? kernels.rope_neighbours : kernels.rope_halves;
    const std::int64_t angles = row * (spec_.num_rotated / 2);
    rope(head, cosines_.data() + angles, sines_.data() + angles, spec_.num_rotated);
  }

 private:
  RopeSpec spec_;
  Math math_;
  std::vector<double> frequencies_;       // [num_rotated / 2] radians a position
  AlignedBuffer<float> cosines_, sines_;  // [rows, num_rotated / 2]
};

}  // namespace octavo
