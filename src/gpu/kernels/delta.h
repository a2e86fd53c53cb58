// A gated delta net (cpu/delta_mixer.h, kernels/generic/delta.inl): convolution and norms, gates, the recurrence,
// keeping of inputs, the gated norm of results.
//
// Columns of a state do not depend on each other. On the processor the rows of a column are four chains of
// multiply-adds; here each chain has a warp.
#pragma once

#include "base/double_functions.h"
#include "gpu/kernels/delta_arguments.h"
#include "gpu/kernels/functions.h"

namespace octavo::gpu {

OCTAVO_GPU_DEVICE int key_width(const DeltaLayer& layer) { return layer.num_key_heads * layer.key_dim; }
OCTAVO_GPU_DEVICE int num_channels(const DeltaLayer& layer) {
  return 2 * key_width(layer) + layer.num_value_heads * layer.value_dim;
}
OCTAVO_GPU_DEVICE int num_pieces(const DeltaLayer& layer) {
  return (layer.value_dim + kStateColumns - 1) / kStateColumns;
}
OCTAVO_GPU_DEVICE float* state_of(const DeltaLayer& layer, const DeltaRange& range) {
  return layer.states + range.state_slot * layer.stride;
}
/// The convolution's inputs in a state, [taps - 1, channels].
OCTAVO_GPU_DEVICE float* inputs_of(const DeltaLayer& layer, const DeltaRange& range) {
  return state_of(layer, range) + (int64_t)layer.num_value_heads * num_pieces(layer) * layer.key_dim * kStateColumns;
}

/// One channel of a row after the convolution.
OCTAVO_GPU_DEVICE float convolved(const ConvolveHeadsArguments& a, const DeltaRange& range, int row, int channel) {
  const int channels = num_channels(a.layer), history = a.layer.taps - 1, own = row - range.first_row;
  float sum = 0.0F;
  for (int tap = 0; tap <= history; ++tap) {
    const int at = own - history + tap;  // an index of the sequence's rows in the step
    float x = 0.0F;
    if (at >= 0) {
      x = a.inputs[(int64_t)(range.first_row + at) * channels + channel];
    } else if (range.begins == 0) {
      x = inputs_of(a.layer, range)[(history + at) * channels + channel];
    }
    sum = simt::fma(a.taps[tap * channels + channel], x, sum);
  }
  return silu(sum);
}

OCTAVO_GPU_DEVICE void convolve_heads(const ConvolveHeadsArguments& a) {
  const DeltaLayer& layer = a.layer;
  const int lane = simt::lane(), head = simt::block_x() * kHeadWarps + simt::warp(), row = simt::block_y();
  const int of_keys = 2 * layer.num_key_heads;  // the heads of Q and of K
  const int index = layer.range_of[row];
  if (index < 0 || head >= of_keys + layer.num_value_heads) return;
  const DeltaRange range = layer.ranges[index];
  const int dim = head < of_keys ? layer.key_dim : layer.value_dim;
  const int first = head < of_keys ? head * layer.key_dim : 2 * key_width(layer) + (head - of_keys) * layer.value_dim;
  float* const mixed = a.mixed + (int64_t)row * num_channels(layer) + first;
  if (head >= of_keys) {
    for (int d = lane; d < dim; d += 32) mixed[d] = convolved(a, range, row, first + d);
    return;
  }
  float* const x =
      (float*)simt::shared() + simt::warp() * (layer.key_dim > layer.value_dim ? layer.key_dim : layer.value_dim);
  for (int d = lane; d < dim; d += 32) x[d] = convolved(a, range, row, first + d);
  simt::sync_warp();
  const float factor = rms_factor(sum_of_squares(x, dim, a.lanes, lane), dim, a.epsilon);
  const float weight = head < layer.num_key_heads ? a.q_weight : a.k_weight;
  for (int d = lane; d < dim; d += 32) mixed[d] = simt::mul(simt::mul(x[d], factor), weight);
}

OCTAVO_GPU_DEVICE double softplus(double x) { return x > 30 ? x : portable::log1p_of(portable::exp_of({x, 0})); }

OCTAVO_GPU_DEVICE void find_gates(const FindGatesArguments& a) {
  const int i = simt::block_x() * kRowThreads + simt::thread(), head = i % a.num_heads;
  if (i >= a.count) return;
  const double step = softplus((double)simt::add(a.decay[i], a.decay_bias[head]));
  a.gates[2 * i] = simt::to_float(portable::exp_of({simt::mul((double)a.decay_scale[head], step), 0}));
  a.gates[2 * i + 1] = simt::to_float(simt::div(1, simt::add(1, portable::exp_of({-(double)a.beta[i], 0}))));
}

/// A block's part of the delta rule: a piece of a head's state in shared memory, one column for each lane, whose rows
/// are shared out among the warps.
struct DeltaBlock {
  const DeltaRuleArguments& a;
  const int lane = simt::lane(), part = simt::warp(), key_dim = a.layer.key_dim;
  const int head = simt::block_x() / num_pieces(a.layer);
  const int column = simt::block_x() % num_pieces(a.layer) * kStateColumns + lane;  // the column of the head
  float* const state = (float*)simt::shared();                                      // [key_dim][kStateColumns]
  float* const k = state + key_dim * kStateColumns;                                 // [key_dim]
  float* const q = k + key_dim;                                                     // [key_dim]
  float* const found = q + key_dim;                                                 // [kDeltaParts][kStateColumns]
  float* const out = found + kDeltaThreads;                                         // [kDeltaParts][kStateColumns]

  OCTAVO_GPU_DEVICE explicit DeltaBlock(const DeltaRuleArguments& argument) : a(argument) {}

  OCTAVO_GPU_DEVICE void run() const {
    const DeltaRange range = a.layer.ranges[simt::block_y()];
    float* const piece = state_of(a.layer, range) + (int64_t)simt::block_x() * key_dim * kStateColumns;
    load(piece, range.begins != 0);
    for (int row = 0; row < range.num_known; ++row) advance(range.first_row + row);
    for_rows([&](int i) { piece[i * kStateColumns + lane] = at(i); });
    for (int row = 0; row < range.num_drafted; ++row) advance(range.first_row + range.num_known + row);
  }

 private:
  /// Copies the piece into shared memory, with all copies begun before any is awaited.
  OCTAVO_GPU_DEVICE void load(const float* piece, bool begins) const {
    for (int i = 4 * simt::thread(); i < key_dim * kStateColumns; i += 4 * kDeltaThreads) {
      if (begins) {
        for (int j = 0; j < 4; ++j) state[i + j] = 0.0F;
      } else {
        simt::copy16(state + i, piece + i);
      }
    }
    simt::commit();
    simt::wait_copies<0>();
    simt::sync_block();
  }
  /// Visits the rows of this warp's part in order. No other warp touches them.
  template <class Visit>
  OCTAVO_GPU_DEVICE void for_rows(const Visit& visit) const {
    const int whole = key_dim / kDeltaParts * kDeltaParts;
    for (int i = part; i < whole; i += kDeltaParts) visit(i);
    if (part == 0)
      for (int i = whole; i < key_dim; ++i) visit(i);
  }
  OCTAVO_GPU_DEVICE float& at(int i) const { return state[i * kStateColumns + lane]; }
  OCTAVO_GPU_DEVICE float sum_of_parts(const float* parts) const {
    return simt::add(simt::add(parts[lane], parts[32 + lane]), simt::add(parts[64 + lane], parts[96 + lane]));
  }

  /// Computes one token: state = decay state + k (beta (v - decay state^T k))^T, out = state^T q.
  OCTAVO_GPU_DEVICE void advance(int row) const {
    const int key_head = head % a.layer.num_key_heads;
    float* const mixed = a.mixed + (int64_t)row * num_channels(a.layer);
    float* const v = mixed + 2 * key_width(a.layer) + head * a.layer.value_dim;
    const float* const gates = a.gates + 2 * ((int64_t)row * a.layer.num_value_heads + head);
    const float decay = gates[0], beta = gates[1], value = column < a.layer.value_dim ? v[column] : 0.0F;
    for (int i = simt::thread(); i < key_dim; i += kDeltaThreads) {
      const float of_q = mixed[key_head * key_dim + i], of_k = mixed[key_width(a.layer) + key_head * key_dim + i];
      q[i] = of_q;
      k[i] = of_k;
    }
    simt::sync_block();
    float sum = 0.0F;
    for_rows([&](int i) { sum = simt::fma(at(i), k[i], sum); });
    found[part * kStateColumns + lane] = sum;
    simt::sync_block();
    const float change = simt::mul(beta, simt::sub(value, simt::mul(decay, sum_of_parts(found))));
    sum = 0.0F;
    for_rows([&](int i) {
      const float next = simt::fma(k[i], change, simt::mul(decay, at(i)));
      at(i) = next;
      sum = simt::fma(next, q[i], sum);
    });
    out[part * kStateColumns + lane] = sum;
    simt::sync_block();  // all threads have read V, K and Q
    if (part == 0 && column < a.layer.value_dim) v[column] = sum_of_parts(out);
  }
};

OCTAVO_GPU_DEVICE void keep_inputs(const KeepInputsArguments& a) {
  const int channels = num_channels(a.layer), heads = a.layer.num_value_heads;
  const int channel = simt::block_x() * kRowThreads + simt::thread();
  if (channel >= channels) return;
  const DeltaRange range = a.layer.ranges[simt::block_y()];
  const int history = a.layer.taps - 1, first_drafted = range.first_row + range.num_known;
  const int taken = history < range.num_known ? history : range.num_known, kept = history - taken;
  float* const to = inputs_of(a.layer, range) + channel;
  for (int i = 0; i < kept; ++i) to[i * channels] = range.begins != 0 ? 0.0F : to[(i + taken) * channels];
  for (int i = 0; i < taken; ++i)
    to[(kept + i) * channels] = a.inputs[(int64_t)(first_drafted - taken + i) * channels + channel];
  for (int i = 0; i < range.num_drafted; ++i) {
    const int64_t from = first_drafted + i, at = range.first_kept + i;
    a.kept_inputs[at * channels + channel] = a.inputs[from * channels + channel];
    if (channel < 2 * heads) a.kept_gates[at * 2 * heads + channel] = a.gates[from * 2 * heads + channel];
  }
}

OCTAVO_GPU_DEVICE void gate_results(const GateResultsArguments& a) {
  const int lane = simt::lane(), head = simt::block_x() * kHeadWarps + simt::warp(), row = simt::block_y();
  if (head >= a.num_heads) return;
  const int batch_row = a.batch_row != nullptr ? a.batch_row[row] : row, dim = a.head_dim;
  const float* const result = a.mixed + (int64_t)(batch_row + 1) * a.num_channels - (int64_t)(a.num_heads - head) * dim;
  float* const gated = a.gated + ((int64_t)row * a.num_heads + head) * dim;
  float* const x = (float*)simt::shared() + simt::warp() * dim;
  for (int d = lane; d < dim; d += 32) x[d] = result[d];
  simt::sync_warp();
  const float factor = rms_factor(sum_of_squares(x, dim, a.lanes, lane), dim, a.epsilon);
  for (int d = lane; d < dim; d += 32)
    gated[d] = simt::mul(silu(gated[d]), simt::mul(simt::mul(x[d], factor), a.norm[d]));
}

}  // namespace octavo::gpu

OCTAVO_GPU_KERNEL(octavo::gpu::kHeadThreads, 1) octavo_convolve_heads(octavo::gpu::ConvolveHeadsArguments a) {
  octavo::gpu::convolve_heads(a);
}
OCTAVO_GPU_KERNEL(octavo::gpu::kRowThreads, 1) octavo_find_gates(octavo::gpu::FindGatesArguments a) {
  octavo::gpu::find_gates(a);
}
OCTAVO_GPU_KERNEL(octavo::gpu::kDeltaThreads, 1) octavo_delta_rule(octavo::gpu::DeltaRuleArguments a) {
  octavo::gpu::DeltaBlock(a).run();
}
OCTAVO_GPU_KERNEL(octavo::gpu::kRowThreads, 1) octavo_keep_inputs(octavo::gpu::KeepInputsArguments a) {
  octavo::gpu::keep_inputs(a);
}
OCTAVO_GPU_KERNEL(octavo::gpu::kHeadThreads, 1) octavo_gate_results(octavo::gpu::GateResultsArguments a) {
  octavo::gpu::gate_results(a);
}
