// The recurrences of a gated delta net and of Mamba-2, and the short convolution before them.
#pragma once

#include "kernels/generic/elementwise.inl"
#include "kernels/kernels.h"

namespace octavo {
namespace {

/// Columns of a state that are in registers at the same time: their sums over the rows are two vectors, each in four
/// parts, so that none waits for itself.
inline constexpr int kStripVectors = 2, kStripSums = 4;
inline constexpr int kStripColumns = kStripVectors * kLanes;
static_assert(kStateColumns % kStripColumns == 0);

/// The lanes of vector `j` of a strip that has `count` columns.
inline int strip_lanes(int count, int j) {
  const int left = count - j * kLanes;
  return left < 0 ? 0 : left > kLanes ? kLanes : left;
}

inline F32 sum_of_parts(const F32 (&parts)[kStripSums]) {
  return f32_add(f32_add(parts[0], parts[1]), f32_add(parts[2], parts[3]));
}

/// Calls body(row, part) for the rows of a state; rows of a part follow each other in its sum.
template <class Body>
inline void for_strip_rows(int num_rows, Body body) {
  int i = 0;
  for (; i + kStripSums <= num_rows; i += kStripSums)
    for (int part = 0; part < kStripSums; ++part) body(i + part, part);
  for (; i < num_rows; ++i) body(i, 0);
}

/// One token over one strip: state = decay state + k (beta (v - decay state^T k))^T, out = state^T q.
inline void delta_token(const DeltaColumns& d, int64_t token, int column, float* state) {
  const float *q = d.q + token * d.stride, *k = d.k + token * d.stride;
  const float* gates = d.gates + token * d.gate_stride;
  const F32 decay = f32_set(gates[0]), beta = f32_set(gates[1]);
  F32 found[kStripVectors][kStripSums], out[kStripVectors][kStripSums], change[kStripVectors];
  for (int j = 0; j < kStripVectors; ++j)
    for (int part = 0; part < kStripSums; ++part) found[j][part] = out[j][part] = f32_zero();
  for_strip_rows(d.key_dim, [&](int i, int part) {
    const F32 ki = f32_set(k[i]);
    for (int j = 0; j < kStripVectors; ++j)
      found[j][part] = f32_fma(f32_load(state + i * kStateColumns + j * kLanes), ki, found[j][part]);
  });
  float* v = d.v + token * d.stride + column;
  for (int j = 0; j < kStripVectors; ++j) {
    const F32 value = f32_load_n(v + j * kLanes, strip_lanes(d.columns - column, j));
    change[j] = f32_mul(beta, f32_sub(value, f32_mul(decay, sum_of_parts(found[j]))));
  }
  for_strip_rows(d.key_dim, [&](int i, int part) {
    const F32 ki = f32_set(k[i]), qi = f32_set(q[i]);
    for (int j = 0; j < kStripVectors; ++j) {
      float* at = state + i * kStateColumns + j * kLanes;
      const F32 next = f32_fma(ki, change[j], f32_mul(decay, f32_load(at)));
      f32_store(at, next);
      out[j][part] = f32_fma(next, qi, out[j][part]);
    }
  });
  for (int j = 0; j < kStripVectors; ++j)
    f32_store_n(v + j * kLanes, sum_of_parts(out[j]), strip_lanes(d.columns - column, j));
}

void delta_rule(const DeltaColumns& d, float* state) {
  for (int column = 0; column < d.columns; column += kStripColumns)
    for (int64_t token = 0; token < d.num_tokens; ++token) delta_token(d, token, column, state + column);
}

/// One token over one strip: state = decay state + step b x^T, out = state^T c + skip x.
inline void scan_token(const ScanColumns& s, int64_t token, int column, float* state) {
  const float *b = s.b + token * s.stride, *c = s.c + token * s.stride;
  const float* steps = s.steps + token * s.step_stride;
  const F32 decay = f32_set(steps[0]), step = f32_set(steps[1]), skip = f32_set(s.skip);
  float* x = s.x + token * s.stride + column;
  F32 given[kStripVectors], added[kStripVectors], out[kStripVectors][kStripSums];
  for (int j = 0; j < kStripVectors; ++j) {
    given[j] = f32_load_n(x + j * kLanes, strip_lanes(s.columns - column, j));
    added[j] = f32_mul(step, given[j]);
    for (int part = 0; part < kStripSums; ++part) out[j][part] = f32_zero();
  }
  for_strip_rows(s.state_dim, [&](int i, int part) {
    const F32 bi = f32_set(b[i]), ci = f32_set(c[i]);
    for (int j = 0; j < kStripVectors; ++j) {
      float* at = state + i * kStateColumns + j * kLanes;
      const F32 next = f32_fma(bi, added[j], f32_mul(decay, f32_load(at)));
      f32_store(at, next);
      out[j][part] = f32_fma(next, ci, out[j][part]);
    }
  });
  for (int j = 0; j < kStripVectors; ++j)
    f32_store_n(x + j * kLanes, f32_fma(skip, given[j], sum_of_parts(out[j])), strip_lanes(s.columns - column, j));
}

void selective_scan(const ScanColumns& s, float* state) {
  for (int column = 0; column < s.columns; column += kStripColumns)
    for (int64_t token = 0; token < s.num_tokens; ++token) scan_token(s, token, column, state + column);
}

void short_conv(const float* const* x, const float* taps, const float* bias, int num_taps, int64_t n, float* y) {
  const auto at = [&](int64_t i, auto load) {
    F32 sum = bias == nullptr ? f32_zero() : load(bias + i);
    for (int tap = 0; tap < num_taps; ++tap) sum = f32_fma(load(taps + tap * n + i), load(x[tap] + i), sum);
    return silu(sum);
  };
  for_vectors(
      n, [&](int64_t i) { f32_store(y + i, at(i, [](const float* p) { return f32_load(p); })); },
      [&](int64_t i, int c) { f32_store_n(y + i, at(i, [c](const float* p) { return f32_load_n(p, c); }), c); });
}

}  // namespace
}  // namespace octavo
