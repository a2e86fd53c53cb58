// The state that a gated delta net keeps of a sequence in a layer, as it lies in a snapshot:
//
//     states    [num_value_heads][pieces][key_dim][kDeltaColumns]    float32
//     inputs    [taps - 1][num_channels]                             of the convolution: the last ones, oldest first
//
// A piece is kDeltaColumns columns of a head's state, the last one filled up with zeros. Plain values.
#pragma once

#include <cmath>
#include <cstddef>

#include "base/to_size.h"
#include "kernels/kernels.h"
#include "model/layer_spec.h"

namespace octavo {

class DeltaState {
 public:
  explicit DeltaState(const DeltaSpec& spec) : spec_(spec) {}

  int num_pieces() const { return (spec_.value_dim + kDeltaColumns - 1) / kDeltaColumns; }
  std::size_t piece_floats() const { return to_size(spec_.key_dim) * kDeltaColumns; }
  std::size_t input_floats() const { return to_size(spec_.taps - 1) * to_size(spec_.num_channels()); }
  std::size_t bytes() const { return (states_floats() + input_floats()) * sizeof(float); }

  float* piece(float* state, int head, int index) const {
    return state + to_size(head * num_pieces() + index) * piece_floats();
  }
  float* inputs(float* state) const { return state + states_floats(); }

 private:
  std::size_t states_floats() const { return to_size(spec_.num_value_heads * num_pieces()) * piece_floats(); }

  DeltaSpec spec_;
};

/// The norms of the heads of Q and K as RMSNorms whose weights are all alike: x / sqrt(sum of squares + 1e-6), and
/// queries divided by sqrt(key_dim). The 1e-6 is the makers', not the model's own epsilon.
struct DeltaNorms {
  float q_weight, k_weight, epsilon;

  explicit DeltaNorms(const DeltaSpec& spec)
      : q_weight(1 / static_cast<float>(spec.key_dim)),
        k_weight(1 / std::sqrt(static_cast<float>(spec.key_dim))),
        epsilon(1e-6F / static_cast<float>(spec.key_dim)) {}
};

}  // namespace octavo
