// The work on heads of Q, K and V after their products: bias, norm, rotary position; K and V go into the cache. A warp
// for each head.
#pragma once

#include "gpu/kernels/kv_layer.h"

namespace octavo::gpu {

/// RMS-norms a head in shared memory, by a warp; `weight` null: all weights are 1.
OCTAVO_GPU_DEVICE void norm_head(float* head, const float* weight, const HeadArguments& a, int lane) {
  simt::sync_warp();
  const float factor = rms_factor(sum_of_squares(head, a.head_dim, a.lanes, lane), a.head_dim, a.epsilon);
  simt::sync_warp();
  for (int d = lane; d < a.head_dim; d += 32) {
    const float normed = simt::mul(head[d], factor);
    head[d] = weight != nullptr ? simt::mul(normed, weight[d]) : normed;
  }
  simt::sync_warp();
}

OCTAVO_GPU_DEVICE void rotate_head(float* head, const RotationArguments& a, int batch_row, int lane) {
  simt::sync_warp();
  const int half = a.num_rotated / 2;
  for (int i = lane; i < half; i += 32) {
    const int first = a.halves ? i : 2 * i, second = a.halves ? i + half : 2 * i + 1;
    const float c = a.cosines[(int64_t)batch_row * half + i], s = a.sines[(int64_t)batch_row * half + i];
    const float x = head[first], y = head[second];
    head[first] = simt::sub(simt::mul(x, c), simt::mul(y, s));
    head[second] = simt::add(simt::mul(x, s), simt::mul(y, c));
  }
  simt::sync_warp();
}

OCTAVO_GPU_DEVICE void finish_queries(const FinishQueriesArguments& a) {
  const int warp = simt::thread() / 32, lane = simt::thread() % 32, dim = a.head.head_dim;
  const int index = simt::block_x() * kHeadWarps + warp, row = simt::block_y();
  if (index >= a.num_heads) return;
  const int batch_row = a.batch_row != nullptr ? a.batch_row[row] : row;
  float* const head = (float*)simt::shared() + warp * 2 * dim;
  const float* const from = a.products + ((int64_t)row * a.num_heads + index) * a.product_dim;
  float* const q = a.q + ((int64_t)row * a.num_heads + index) * dim;
  for (int d = lane; d < dim; d += 32)
    head[d] = a.bias != nullptr ? simt::add(from[d], a.bias[index * a.product_dim + d]) : from[d];
  if (a.head.norm != nullptr) norm_head(head, a.head.norm, a.head, lane);
  rotate_head(head, a.head.rope, batch_row, lane);
  for (int d = lane; d < dim; d += 32) q[d] = simt::mul(head[d], a.scales[batch_row]);
}

OCTAVO_GPU_DEVICE void gate_attended(const GateAttendedArguments& a) {
  const int column = simt::block_x() * kRowThreads + simt::thread(), row = simt::block_y();
  if (column >= a.num_heads * a.head_dim) return;
  const int of_row = 2 * (column / a.head_dim) * a.head_dim + a.head_dim + column % a.head_dim;
  float gate = a.products[(int64_t)row * 2 * a.num_heads * a.head_dim + of_row];
  if (a.bias != nullptr) gate = simt::add(gate, a.bias[of_row]);
  float& x = a.x[(int64_t)row * a.num_heads * a.head_dim + column];
  x = simt::mul(sigmoid(gate), x);
}

/// Writes up to kI16ScaleDims dimensions as integers with a scale; by a warp.
template <class Place>
OCTAVO_GPU_DEVICE void write_segment(const float* x, int count, uint16_t* scale_out, int lane, const Place& place) {
  float top = 0.0F;
  for (int i = lane; i < count; i += 32) top = f32_max(f32_abs(x[i]), top);
  top = largest_of_warp(top);
  const float most = (float)kI16Top, largest_half = 65504.0F, one = 1.0F / (float)kI16One;
  uint16_t scale = simt::float_to_half(top < largest_half ? top : largest_half);
  if (top < largest_half && top > simt::mul(simt::mul(simt::half_to_float(scale), one), most + 0.5F)) ++scale;
  const float unit = simt::mul(simt::half_to_float(scale), one);
  const float factor = unit > 0.0F ? simt::div(1.0F, unit) : 0.0F;
  for (int i = lane; i < count; i += 32) {
    const float scaled = simt::mul(x[i], factor);
    *place(i) = (uint16_t)simt::to_int(f32_max(f32_min(scaled, most), -most));
  }
  if (lane == 0) *scale_out = scale;
}

template <CardKvType T>
OCTAVO_GPU_DEVICE void write_head(const CardKvLayer& kv, const CardKvHead& to, int token, const float* k,
                                  const float* v, int lane) {
  const int dim = kv.head_dim;
  if (T == CardKvType::kF16) {
    for (int d = lane; d < dim; d += 32) {
      to.k[k_place<T>(kv, token, d)] = simt::float_to_half(f32_max(f32_min(k[d], 65504.0F), -65504.0F));
      to.v[v_place<T>(kv, token, d)] = simt::float_to_half(f32_max(f32_min(v[d], 65504.0F), -65504.0F));
    }
    return;
  }
  for (int begin = 0, g = 0; begin < dim; begin += kI16ScaleDims, ++g) {
    const int count = dim - begin < kI16ScaleDims ? dim - begin : kI16ScaleDims, scale = g * kv.block_size + token;
    write_segment(k + begin, count, to.k_scale + scale, lane,
                  [&](int i) { return to.k + k_place<T>(kv, token, begin + i); });
    write_segment(v + begin, count, to.v_scale + scale, lane,
                  [&](int i) { return to.v + v_place<T>(kv, token, begin + i); });
  }
}

template <CardKvType T>
OCTAVO_GPU_DEVICE void write_kv_rows(const WriteKvArguments& a) {
  const int warp = simt::thread() / 32, lane = simt::thread() % 32, dim = a.head.head_dim;
  const int index = simt::block_x() * kHeadWarps + warp, row = simt::block_y();
  if (index >= a.kv.num_kv_heads) return;
  float* const k = (float*)simt::shared() + warp * 2 * dim;
  float* const v = k + dim;
  const int64_t at = ((int64_t)row * a.kv.num_kv_heads + index) * dim;
  for (int d = lane; d < dim; d += 32) {
    k[d] = a.k_bias != nullptr ? simt::add(a.k[at + d], a.k_bias[index * dim + d]) : a.k[at + d];
    const float own = a.v != nullptr ? a.v[at + d] : k[d];
    v[d] = a.v != nullptr && a.v_bias != nullptr ? simt::add(own, a.v_bias[index * dim + d]) : own;
  }
  if (a.v_norm) norm_head(v, nullptr, a.head, lane);
  if (a.head.norm != nullptr) norm_head(k, a.head.norm, a.head, lane);
  rotate_head(k, a.head.rope, row, lane);
  const int position = a.positions[row], block = a.blocks[a.first_block[row] + position / a.kv.block_size];
  write_head<T>(a.kv, kv_head(a.kv, block, index), position % a.kv.block_size, k, v, lane);
}

}  // namespace octavo::gpu

OCTAVO_GPU_KERNEL(octavo::gpu::kHeadThreads, 1) octavo_write_kv_f16(octavo::gpu::WriteKvArguments a) {
  octavo::gpu::write_kv_rows<octavo::gpu::CardKvType::kF16>(a);
}
OCTAVO_GPU_KERNEL(octavo::gpu::kHeadThreads, 1) octavo_write_kv_i16(octavo::gpu::WriteKvArguments a) {
  octavo::gpu::write_kv_rows<octavo::gpu::CardKvType::kI16>(a);
}
OCTAVO_GPU_KERNEL(octavo::gpu::kHeadThreads, 1) octavo_finish_queries(octavo::gpu::FinishQueriesArguments a) {
  octavo::gpu::finish_queries(a);
}
OCTAVO_GPU_KERNEL(octavo::gpu::kRowThreads, 1) octavo_gate_attended(octavo::gpu::GateAttendedArguments a) {
  octavo::gpu::gate_attended(a);
}
