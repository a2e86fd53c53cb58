// Operations on single rows: norms, activations, rotary positions, sums.
#pragma once

#include "kernels/kernels.h"

namespace octavo {
namespace {

/// e^x for x up to 88; below -87 the result is 0. Relative error under 2 ulp (Cody-Waite reduction, degree 6).
inline F32 f32_exp(F32 x) {
  const F32 clamped = f32_min(f32_max(x, f32_set(-87.0F)), f32_set(88.0F));
  const I32 n = f32_round(f32_mul(clamped, f32_set(1.44269504F)));
  const F32 nf = i32_to_f32(n);
  F32 r = f32_fma(nf, f32_set(-0.693359375F), clamped);
  r = f32_fma(nf, f32_set(2.12194440e-4F), r);
  F32 p = f32_set(1.0F / 720);
  p = f32_fma(p, r, f32_set(1.0F / 120));
  p = f32_fma(p, r, f32_set(1.0F / 24));
  p = f32_fma(p, r, f32_set(1.0F / 6));
  p = f32_fma(p, r, f32_set(0.5F));
  p = f32_fma(p, r, f32_set(1.0F));
  p = f32_fma(p, r, f32_set(1.0F));
  const F32 power = i32_as_f32(i32_shl<23>(i32_add(n, i32_set(127))));
  return f32_select(f32_less(x, f32_set(-87.0F)), f32_zero(), f32_mul(p, power));
}

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

/// The lanes of a row's sums where every level has the same bits (docs/portable_bits.md): so many vectors make them up.
inline constexpr int kWideLanes = 16, kWideVectors = kWideLanes / kLanes;

/// The sum of 16 lanes in V vectors, or of the level's own lanes in one: the halves of them are added until one is
/// left.
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

/// The sum of value(vector, lanes, sum) over a row, in V vectors of lanes, each in four parts: one would wait for
/// itself.
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
    if (count < kLanes) {  // lanes beyond the row are no part of it
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

inline F32 sigmoid(F32 x) { return f32_div(f32_set(1.0F), f32_add(f32_set(1.0F), f32_exp(f32_sub(f32_zero(), x)))); }

inline F32 silu(F32 x) { return f32_div(x, f32_add(f32_set(1.0F), f32_exp(f32_sub(f32_zero(), x)))); }

// tanh(u) = 1 - 2 / (exp(2u) + 1); u = sqrt(2 / pi) (x + 0.044715 x^3).
inline F32 gelu(F32 x) {
  const F32 cubic = f32_fma(f32_mul(f32_mul(x, x), x), f32_set(0.044715F), x);
  const F32 e = f32_exp(f32_mul(cubic, f32_set(2.0F * 0.79788456F)));
  const F32 tanh = f32_sub(f32_set(1.0F), f32_div(f32_set(2.0F), f32_add(e, f32_set(1.0F))));
  return f32_mul(f32_mul(f32_set(0.5F), x), f32_add(f32_set(1.0F), tanh));
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
  gated(gate, up, n, out, [](F32 g, F32 u) { return f32_mul(gelu(g), u); });
}

/// x Phi(x), with Phi from erf: 1 - (a1 t + ... + a5 t^5) exp(-z^2), z = |x| / sqrt(2), t = 1 / (1 + p z) (Abramowitz
/// and Stegun 1964, 7.1.26: an error below 1.5e-7).
inline F32 gelu_erf(F32 x) {
  const F32 one = f32_set(1.0F), z = f32_mul(f32_abs(x), f32_set(0.70710678F));
  const F32 t = f32_div(one, f32_fma(z, f32_set(0.3275911F), one));
  F32 p = f32_set(1.061405429F);
  p = f32_fma(p, t, f32_set(-1.453152027F));
  p = f32_fma(p, t, f32_set(1.421413741F));
  p = f32_fma(p, t, f32_set(-0.284496736F));
  p = f32_fma(p, t, f32_set(0.254829592F));
  const F32 tail = f32_mul(f32_mul(f32_mul(p, t), f32_set(0.5F)), f32_exp(f32_sub(f32_zero(), f32_mul(z, z))));
  const F32 phi = f32_select(f32_less(x, f32_zero()), tail, f32_sub(one, tail));
  return f32_mul(x, phi);
}

void gelu_erf_mul(const float* gate, const float* up, int64_t n, float* out) {
  if (up == nullptr) return gated(gate, gate, n, out, [](F32 g, F32) { return gelu_erf(g); });
  gated(gate, up, n, out, [](F32 g, F32 u) { return f32_mul(gelu_erf(g), u); });
}

void clamped_swiglu(const float* gate, const float* up, int64_t n, float* out) {
  const F32 most = f32_set(kSwigluLimit), least = f32_set(-kSwigluLimit), slope = f32_set(-kSwigluSlope);
  // Comparisons, because what the least of a NaN and a number is differs from level to level.
  const auto up_to_limit = [&](F32 x) { return f32_select(f32_less(most, x), most, x); };
  gated(gate, up, n, out, [&](F32 g, F32 u) {
    g = up_to_limit(g);
    u = f32_select(f32_less(u, least), least, up_to_limit(u));
    const F32 one = f32_set(1.0F);
    return f32_mul(f32_div(g, f32_add(one, f32_exp(f32_mul(slope, g)))), f32_add(u, one));
  });
}

/// tanh(u), to 3e-7 of it; for a NaN that NaN. 1 - 2 / (exp(2 u) + 1) alone would lose the digits of a small u, so
/// there it is the odd polynomial of degree 9 (minimax on [-0.55, 0.55]).
inline F32 f32_tanh(F32 u) {
  const F32 t = f32_mul(u, u);
  F32 p = f32_set(1.64375789e-2F);
  p = f32_fma(p, t, f32_set(-5.26718125e-2F));
  p = f32_fma(p, t, f32_set(1.33207247e-1F));
  p = f32_fma(p, t, f32_set(-3.33329469e-1F));
  const F32 small = f32_fma(f32_mul(p, t), u, u);
  const F32 e = f32_exp(f32_add(u, u));
  const F32 large = f32_sub(f32_set(1.0F), f32_div(f32_set(2.0F), f32_add(e, f32_set(1.0F))));
  return f32_select(f32_less(f32_set(0.55F), f32_abs(u)), large, small);
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
