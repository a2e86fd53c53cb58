// Arguments of the kernels of gated delta nets. A plain header: kernels and the host include it. Pointers are addresses
// of the card. The channels are those of Q, then of K, then of V.
#pragma once

#include "gpu/kernels/arguments.h"

namespace octavo::gpu {

/// The rows of a sequence, and its state. Drafted rows are the last ones.
struct DeltaRange {
  int32_t first_row, num_known, num_drafted;
  int32_t state_slot;
  int32_t begins;      // 1: the state is all zeros before these rows
  int32_t first_kept;  // the index of the first drafted row among all rows that are kept
};

/// A layer, its states and the rows that go through them.
struct DeltaLayer {
  const DeltaRange* ranges;  // [ranges]
  const int32_t* range_of;   // [rows]; below 0: the row is in no range
  float* states;             // the state of slot 0 (model/delta_state.h)
  int64_t stride;            // the distance between the states of two slots, in floats
  int num_key_heads, num_value_heads, key_dim, value_dim, taps;
};

/// Q, K and V of rows after the convolution, with the heads of Q and K normed. One block for kHeadWarps heads (x) of a
/// row (y); x goes over the heads of Q, then of K, then of V.
struct ConvolveHeadsArguments {
  DeltaLayer layer;
  const float* inputs;  // [rows, channels]
  const float* taps;    // [taps, channels]
  float* mixed;         // [rows, channels]
  float q_weight, k_weight, epsilon;
  int lanes;
};
constexpr int convolve_heads_shared(int key_dim, int value_dim) {
  return kHeadWarps * (key_dim > value_dim ? key_dim : value_dim) * (int)sizeof(float);
}

/// The decay and the beta of each head of each row. One block for kRowThreads of them (x).
struct FindGatesArguments {
  const float *decay, *beta;              // [rows, num_heads], results of products
  const float *decay_bias, *decay_scale;  // [num_heads]
  float* gates;                           // [rows, num_heads, 2]
  int count, num_heads;                   // rows times heads
};

/// The warps and threads of a block of the delta rule. Each warp has one of the CPU's partial sums over a state's rows.
inline constexpr int kDeltaParts = 4, kDeltaThreads = kDeltaParts * 32;

/// The recurrence over the rows of a range (y), in a piece of a head's state (x), one column for each lane. Drafted
/// rows change a copy of the state. V is replaced by the result.
struct DeltaRuleArguments {
  DeltaLayer layer;
  float* mixed;        // [rows, channels]
  const float* gates;  // [rows, num_value_heads, 2]
};
constexpr int delta_rule_shared(int key_dim) {
  return (key_dim * (kStateColumns + 2) + 2 * kDeltaThreads) * (int)sizeof(float);
}

/// Writes the convolution's last inputs into the state, and inputs and gates of drafted rows to where they are kept.
/// One block for kRowThreads channels (x) of a range (y).
struct KeepInputsArguments {
  DeltaLayer layer;
  const float* inputs;  // [rows, channels]
  const float* gates;   // [rows, num_value_heads, 2]
  float* kept_inputs;   // [kept rows, channels]
  float* kept_gates;    // [kept rows, num_value_heads, 2]
};

/// gated = silu(gated) norm(result), head by head. One block for kHeadWarps value heads (x) of a row (y).
struct GateResultsArguments {
  const float* mixed;        // [batch rows, channels]; the channels of V hold the results
  float* gated;              // [rows, num_heads, head_dim]
  const float* norm;         // [head_dim]
  const int32_t* batch_row;  // [rows], the batch's row of each; null: row r is the batch's row r
  float epsilon;
  int num_heads, head_dim, num_channels, lanes;
};
constexpr int gate_results_shared(int head_dim) { return kHeadWarps * head_dim * (int)sizeof(float); }

}  // namespace octavo::gpu
