// The states that a recurrence keeps of a sequence in a layer, a matrix for each head, as they lie in a snapshot:
//
//     states    [heads][pieces][rows][kStateColumns]    float32
//     inputs    [taps - 1][channels]                    of the convolution: the last ones, oldest first
//
// A piece is kStateColumns columns of a head's state, the last one filled up with zeros. Plain values.
#pragma once

#include <cstddef>

#include "base/to_size.h"
#include "kernels/kernels.h"
#include "model/layer_spec.h"

namespace octavo {

/// The sizes of such states.
struct HeadStateSizes {
  int num_heads = 0, rows = 0, columns = 0;
  int taps = 0, num_channels = 0;
};

class HeadStates {
 public:
  HeadStates() = default;
  explicit HeadStates(const HeadStateSizes& sizes) : sizes_(sizes) {}

  const HeadStateSizes& sizes() const { return sizes_; }
  int num_pieces() const { return (sizes_.columns + kStateColumns - 1) / kStateColumns; }
  std::size_t piece_floats() const { return to_size(sizes_.rows) * kStateColumns; }
  std::size_t input_floats() const { return to_size(sizes_.taps - 1) * to_size(sizes_.num_channels); }
  std::size_t bytes() const { return (states_floats() + input_floats()) * sizeof(float); }

  float* piece(float* state, int head, int index) const {
    return state + to_size(head * num_pieces() + index) * piece_floats();
  }
  float* inputs(float* state) const { return state + states_floats(); }

 private:
  std::size_t states_floats() const { return to_size(sizes_.num_heads * num_pieces()) * piece_floats(); }

  HeadStateSizes sizes_;
};

inline HeadStates states_of(const DeltaSpec& spec) {
  return HeadStates({.num_heads = spec.num_value_heads,
                     .rows = spec.key_dim,
                     .columns = spec.value_dim,
                     .taps = spec.taps,
                     .num_channels = spec.num_channels()});
}
inline HeadStates states_of(const MambaSpec& spec) {
  return HeadStates({.num_heads = spec.num_heads,
                     .rows = spec.state_dim,
                     .columns = spec.head_dim,
                     .taps = spec.taps,
                     .num_channels = spec.num_channels()});
}

}  // namespace octavo
