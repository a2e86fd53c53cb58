// Operations on single rows: norms, activations, rotary positions, sums.
#pragma once

#include "kernels/kernels.h"

namespace octavo {
namespace {

#define OCTAVO_FUNCTION inline
#include "kernels/generic/functions.inl"
#undef OCTAVO_FUNCTION

inline float exp_of(float x) {
  float lanes[kLanes];
  f32_store(lanes, f32_exp(f32_set(x)));
  return lanes[0];
}

/// Calls full(i) for whole vectors and rest(i, count) for what is left.
template <class Full, class Rest>
inline void for_vectors(int64_t n, Full full, Rest rest) {
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) full(i);
  if (i < n) rest(i, (int)(n - i));
}

/// The lanes of a row's sums where every level has the same bits (docs/portable_bits.md), and how many vectors make
/// them up.
inline constexpr int kWideLanes = 16, kWideVectors = kWideLanes / kLanes;

/// The sum of 16 lanes in V vectors, or of the level's own lanes in one: halves are added until one lane is left.
template <int V>
inline float sum_of_lanes(const F32 (&parts)[V]) {
  if constexpr (V == 1) return f32_sum(parts[0]);
  F32 halves[V];
  for (int v = 0; v < V; ++v) halves[v] = parts[v];
#pragma GCC unroll 4
  for (int half = V / 2; half > 0; half /= 2)
    for (int v = 0; v < half; ++v) halves[v] = f32_add(halves[v], halves[v + half]);
  if constexpr (kLanes > 4) return f32_sum(halves[0]);
  float lanes[kLanes];  // f32_sum() of some levels adds neighbours first
  f32_store(lanes, halves[0]);
  return (lanes[0] + lanes[2]) + (lanes[1] + lanes[3]);
}

/// The sum of value(vector, lanes, sum) over a row, in V vectors of lanes, each with four independent parts, so that
/// additions need not wait for each other.
template <int V, class Value>
inline float sum_of_row(const float* x, int64_t n, Value value) {
  F32 sums[4][V];
  for (auto& part : sums)
    for (F32& s : part) s = f32_zero();
  int64_t k = 0;
  for (; k + 4 * V * kLanes <= n; k += 4 * V * kLanes)
    for (int j = 0; j < 4; ++j)
      for (int v = 0; v < V; ++v) sums[j][v] = value(f32_load(x + k + (j * V + v) * kLanes), kLanes, sums[j][v]);
  while (k < n)
    for (int v = 0; v < V && k < n; ++v, k += kLanes) {
      const int count = n - k < kLanes ? (int)(n - k) : kLanes;
      sums[0][v] = value(f32_load_n(x + k, count), count, sums[0][v]);
    }
  F32 all[V];
  for (int v = 0; v < V; ++v) all[v] = f32_add(f32_add(sums[0][v], sums[1][v]), f32_add(sums[2][v], sums[3][v]));
  return sum_of_lanes(all);
}

template <int V>
void rms_norm(const float* x, const float* weight, int64_t n, float eps, float* y) {
  const float squares = sum_of_row<V>(x, n, [](F32 v, int, F32 sum) { return f32_fma(v, v, sum); });
  const F32 factor = f32_set(1.0F / __builtin_sqrtf(squares / (float)n + eps));
  for_vectors(
      n, [&](int64_t i) { f32_store(y + i, f32_mul(f32_mul(f32_load(x + i), factor), f32_load(weight + i))); },
      [&](int64_t i, int c) {
        f32_store_n(y + i, f32_mul(f32_mul(f32_load_n(x + i, c), factor), f32_load_n(weight + i, c)), c);
      });
}

template <int V>
void layer_norm(const float* x, const float* weight, const float* bias, int64_t n, float eps, float* y) {
  const float mean = sum_of_row<V>(x, n, [](F32 v, int, F32 sum) { return f32_add(sum, v); }) / (float)n;
  const F32 middle = f32_set(mean);
  const auto square = [&](F32 v, int count, F32 sum) {
    F32 distance = f32_sub(v, middle);
    if (count < kLanes) {  // lanes beyond the row do not count
      float lanes[kLanes];
      f32_store(lanes, distance);
      distance = f32_load_n(lanes, count);
    }
    return f32_fma(distance, distance, sum);
  };
  const float variance = sum_of_row<V>(x, n, square) / (float)n;
  const F32 factor = f32_set(1.0F / __builtin_sqrtf(variance + eps));
  const auto normed = [&](F32 v, F32 w) { return f32_mul(f32_mul(f32_sub(v, middle), factor), w); };
  for_vectors(
      n, [&](int64_t i) { f32_store(y + i, normed(f32_load(x + i), f32_load(weight + i))); },
      [&](int64_t i, int c) { f32_store_n(y + i, normed(f32_load_n(x + i, c), f32_load_n(weight + i, c)), c); });
  if (bias == nullptr) return;
  for_vectors(
      n, [&](int64_t i) { f32_store(y + i, f32_add(f32_load(y + i), f32_load(bias + i))); },
      [&](int64_t i, int c) { f32_store_n(y + i, f32_add(f32_load_n(y + i, c), f32_load_n(bias + i, c)), c); });
}

void add(float* x, const float* y, int64_t n) {
  for_vectors(
      n, [&](int64_t i) { f32_store(x + i, f32_add(f32_load(x + i), f32_load(y + i))); },
      [&](int64_t i, int c) { f32_store_n(x + i, f32_add(f32_load_n(x + i, c), f32_load_n(y + i, c)), c); });
}

void scale(float* x, float s, int64_t n) {
  for_vectors(
      n, [&](int64_t i) { f32_store(x + i, f32_mul(f32_load(x + i), f32_set(s))); },
      [&](int64_t i, int c) { f32_store_n(x + i, f32_mul(f32_load_n(x + i, c), f32_set(s)), c); });
}

/// out = join(gate, up).
template <class Join>
inline void gated(const float* gate, const float* up, int64_t n, float* out, Join join) {
  for_vectors(
      n, [&](int64_t i) { f32_store(out + i, join(f32_load(gate + i), f32_load(up + i))); },
      [&](int64_t i, int c) { f32_store_n(out + i, join(f32_load_n(gate + i, c), f32_load_n(up + i, c)), c); });
}

void silu_mul(const float* gate, const float* up, int64_t n, float* out) {
  gated(gate, up, n, out, [](F32 g, F32 u) { return f32_mul(silu(g), u); });
}

void sigmoid_mul(const float* gate, const float* x, int64_t n, float* out) {
  gated(gate, x, n, out, [](F32 g, F32 v) { return f32_mul(sigmoid(g), v); });
}

void gelu_mul(const float* gate, const float* up, int64_t n, float* out) {
  if (up == nullptr) return gated(gate, gate, n, out, [](F32 g, F32) { return gelu(g); });
  gated(gate, up, n, out, [](F32 g, F32 u) { return f32_mul(gelu(g), u); });
}

void gelu_erf_mul(const float* gate, const float* up, int64_t n, float* out) {
  if (up == nullptr) return gated(gate, gate, n, out, [](F32 g, F32) { return gelu_erf(g); });
  gated(gate, up, n, out, [](F32 g, F32 u) { return f32_mul(gelu_erf(g), u); });
}

void squared_relu(const float* gate, const float* up, int64_t n, float* out) {
  if (up == nullptr) return gated(gate, gate, n, out, [](F32 g, F32) { return squared_relu(g); });
  gated(gate, up, n, out, [](F32 g, F32 u) { return f32_mul(squared_relu(g), u); });
}

void xielu(const float* gate, const XieluNumbers& numbers, int64_t n, float* out) {
  const F32 above = f32_set(numbers.above), below = f32_set(numbers.below), slope = f32_set(numbers.slope),
            most = f32_set(numbers.most);
  gated(gate, gate, n, out, [&](F32 g, F32) { return xielu(g, above, below, slope, most); });
}

void clamped_swiglu(const float* gate, const float* up, int64_t n, float* out) {
  gated(gate, up, n, out, [](F32 g, F32 u) { return clamped_swiglu(g, u); });
}

void soft_cap(float* x, float cap, int64_t n) {
  const F32 most = f32_set(cap), part = f32_set(1.0F / cap);
  const auto capped = [&](F32 v) { return f32_mul(most, f32_tanh(f32_mul(v, part))); };
  for_vectors(
      n, [&](int64_t i) { f32_store(x + i, capped(f32_load(x + i))); },
      [&](int64_t i, int c) { f32_store_n(x + i, capped(f32_load_n(x + i, c)), c); });
}

void rope_neighbours(float* x, const float* cosines, const float* sines, int64_t head_dim) {
  for (int64_t i = 0; i < head_dim / 2; ++i) {
    const float a = x[2 * i], b = x[2 * i + 1];
    x[2 * i] = a * cosines[i] - b * sines[i];
    x[2 * i + 1] = a * sines[i] + b * cosines[i];
  }
}

void rope_halves(float* x, const float* cosines, const float* sines, int64_t head_dim) {
  const int64_t half = head_dim / 2;
  for (int64_t i = 0; i < half; ++i) {
    const float a = x[i], b = x[i + half];
    x[i] = a * cosines[i] - b * sines[i];
    x[i + half] = a * sines[i] + b * cosines[i];
  }
}

}  // namespace
}  // namespace octavo
