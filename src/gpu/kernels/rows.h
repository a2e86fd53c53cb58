// Operations on the rows of a step: residual stream and norms, activations, gathering.
#pragma once

#include "gpu/kernels/arguments.h"
#include "gpu/kernels/functions.h"

namespace octavo::gpu {

/// Writes the norm of `row`, which is in shared memory, to `to`; by all threads of a block.
OCTAVO_GPU_DEVICE void norm_into(const float* row, float* factor, const float* weight, const FinishRowsArguments& a,
                                 float* to) {
  const int t = simt::thread();
  simt::sync_block();
  if (t < 32) {
    const float squares = sum_of_squares(row, a.width, a.lanes, t);
    if (t == 0) *factor = rms_factor(squares, a.width, a.epsilon);
  }
  simt::sync_block();
  for (int i = t; i < a.width; i += kRowThreads) to[i] = simt::mul(simt::mul(row[i], *factor), weight[i]);
}

OCTAVO_GPU_DEVICE void finish_rows(const FinishRowsArguments& a) {
  auto* const row = (float*)simt::shared();
  float* const factor = row + a.width;
  const int t = simt::thread();
  float* const x = a.x + (int64_t)simt::block_x() * a.width;
  float* const h = a.h + (int64_t)simt::block_x() * a.width;
  if (a.adds) {
    for (int i = t; i < a.width; i += kRowThreads) row[i] = a.bias != nullptr ? simt::add(h[i], a.bias[i]) : h[i];
    if (a.post_norm != nullptr) {
      norm_into(row, factor, a.post_norm, a, h);
      for (int i = t; i < a.width; i += kRowThreads) row[i] = h[i];  // each thread wrote these itself
    }
  }
  for (int i = t; i < a.width; i += kRowThreads) {
    float v = a.adds ? simt::add(x[i], row[i]) : x[i];
    if (a.scale != 1.0F) v = simt::mul(v, a.scale);
    row[i] = x[i] = v;
  }
  if (a.next_norm != nullptr) return norm_into(row, factor, a.next_norm, a, h);
  for (int i = t; i < a.width; i += kRowThreads) h[i] = row[i];
}

OCTAVO_GPU_DEVICE void activate_rows(const ActivateArguments& a) {
  const int column = simt::block_x() * kRowThreads + simt::thread();
  if (column >= a.width) return;
  const int64_t at = (int64_t)simt::block_y() * a.width + column;
  float gate = a.gate[at], up = a.up != nullptr ? a.up[at] : gate;
  if (a.gate_bias != nullptr) gate = simt::add(gate, a.gate_bias[column]);
  if (a.up_bias != nullptr) up = simt::add(up, a.up_bias[column]);
  a.out[at] = activate(a.activation, gate, up, a.up != nullptr);
}

OCTAVO_GPU_DEVICE void gather_rows(const GatherRowsArguments& a) {
  const int column = simt::block_x() * kRowThreads + simt::thread();
  if (column >= a.width) return;
  const int row = simt::block_y();
  a.to[(int64_t)row * a.width + column] = a.from[(int64_t)a.rows[row] * a.width + column];
}

OCTAVO_GPU_DEVICE void find_finite(const FindFiniteArguments& a) {
  auto* const spoiled = (int32_t*)simt::shared();
  const float* const x = a.x + (int64_t)simt::block_x() * a.width;
  if (simt::thread() == 0) *spoiled = 0;
  simt::sync_block();
  for (int i = simt::thread(); i < a.width; i += kRowThreads)
    if ((simt::as_int(x[i]) & 0x7FFFFFFF) >= 0x7F800000) *spoiled = 1;
  simt::sync_block();
  if (simt::thread() == 0) a.is_finite[simt::block_x()] = *spoiled == 0 ? 1 : 0;
}

OCTAVO_GPU_DEVICE void read_words(const ReadWordsArguments& a) {
  const int64_t thread = (int64_t)simt::block_x() * kRowThreads + simt::thread();
  const int64_t stride = (int64_t)simt::grid_x() * kRowThreads * 4;
  uint32_t sum = 0;
  OCTAVO_GPU_KEEP_LOOP
  for (int64_t at = thread * 4; at < a.num_words; at += 4 * stride) {
    OCTAVO_GPU_UNROLL
    for (int i = 0; i < 4; ++i) {
      if (at + i * stride >= a.num_words) break;
      const simt::Words4 words = simt::load16(a.from + at + i * stride);
      sum += words.v[0] + words.v[1] + words.v[2] + words.v[3];
    }
  }
  a.sums[thread] = sum;
}

OCTAVO_GPU_DEVICE void finish_logits(const FinishLogitsArguments& a) {
  const int column = simt::block_x() * kRowThreads + simt::thread();
  if (column >= a.width) return;
  float& y = a.y[(int64_t)simt::block_y() * a.width + column];
  if (a.bias != nullptr) y = simt::add(y, a.bias[column]);
  if (a.cap != 0.0F) y = simt::mul(a.cap, f32_tanh(simt::mul(y, simt::div(1.0F, a.cap))));
}

}  // namespace octavo::gpu

OCTAVO_GPU_KERNEL(octavo::gpu::kRowThreads, 1) octavo_finish_rows(octavo::gpu::FinishRowsArguments a) {
  octavo::gpu::finish_rows(a);
}
OCTAVO_GPU_KERNEL(octavo::gpu::kRowThreads, 1) octavo_activate_rows(octavo::gpu::ActivateArguments a) {
  octavo::gpu::activate_rows(a);
}
OCTAVO_GPU_KERNEL(octavo::gpu::kRowThreads, 1) octavo_gather_rows(octavo::gpu::GatherRowsArguments a) {
  octavo::gpu::gather_rows(a);
}
OCTAVO_GPU_KERNEL(octavo::gpu::kRowThreads, 1) octavo_find_finite(octavo::gpu::FindFiniteArguments a) {
  octavo::gpu::find_finite(a);
}
OCTAVO_GPU_KERNEL(octavo::gpu::kRowThreads, 1) octavo_finish_logits(octavo::gpu::FinishLogitsArguments a) {
  octavo::gpu::finish_logits(a);
}
OCTAVO_GPU_KERNEL(octavo::gpu::kRowThreads, 1) octavo_read_words(octavo::gpu::ReadWordsArguments a) {
  octavo::gpu::read_words(a);
}
