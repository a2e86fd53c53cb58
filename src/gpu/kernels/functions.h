// Functions of single floats, with the bits of the processor's kernels (kernels/generic/elementwise.inl,
// attention.inl): the same constants, the same order, each operation rounded once.
#pragma once

#include "gpu/simt.h"
#include "model/activation.h"

namespace octavo::gpu {

inline constexpr float kLog2E = 1.44269504F;
/// Softmax weights below 2^kLeastExponent are 0.
inline constexpr float kLeastExponent = -100.0F;

/// a > b ? a : b, which is b where either is no number, as the processor's instruction gives it.
OCTAVO_GPU_DEVICE float larger_of(float a, float b) { return a > b ? a : b; }
OCTAVO_GPU_DEVICE float smaller_of(float a, float b) { return a < b ? a : b; }
OCTAVO_GPU_DEVICE float magnitude(float a) { return simt::as_float(simt::as_int(a) & 0x7FFFFFFF); }
OCTAVO_GPU_DEVICE float minus_infinity() { return simt::as_float((int)0xFF800000U); }

/// e^x for x up to 88; below -87 the result is 0.
OCTAVO_GPU_DEVICE float exp_of(float x) {
  const float clamped = smaller_of(larger_of(x, -87.0F), 88.0F);
  const int n = simt::to_int(simt::mul(clamped, kLog2E));
  const float nf = simt::to_float(n);
  float r = simt::fma(nf, -0.693359375F, clamped);
  r = simt::fma(nf, 2.12194440e-4F, r);
  float p = 1.0F / 720;
  p = simt::fma(p, r, 1.0F / 120);
  p = simt::fma(p, r, 1.0F / 24);
  p = simt::fma(p, r, 1.0F / 6);
  p = simt::fma(p, r, 0.5F);
  p = simt::fma(p, r, 1.0F);
  p = simt::fma(p, r, 1.0F);
  const float power = simt::as_float((int)(((unsigned)n + 127U) << 23));
  return x < -87.0F ? 0.0F : simt::mul(p, power);
}

/// 2^x for x <= 0; 0 from kLeastExponent down, and for a NaN.
OCTAVO_GPU_DEVICE float exp2_of_negative(float x) {
  const float to_integer = 12582912.0F;  // 1.5 * 2^23
  const float shifted = simt::add(x, to_integer), f = simt::sub(x, simt::sub(shifted, to_integer));
  float p = 1.32647273e-3F;
  p = simt::fma(p, f, 9.67151299e-3F);
  p = simt::fma(p, f, 5.55073358e-2F);
  p = simt::fma(p, f, 2.40222424e-1F);
  p = simt::fma(p, f, 6.93147004e-1F);
  p = simt::fma(p, f, 1.0F);
  const unsigned power = (unsigned)simt::as_int(p) + ((unsigned)simt::as_int(shifted) << 23);
  return kLeastExponent < x ? simt::as_float((int)power) : 0.0F;
}

OCTAVO_GPU_DEVICE float tanh_of(float u) {
  const float t = simt::mul(u, u);
  float p = 1.64375789e-2F;
  p = simt::fma(p, t, -5.26718125e-2F);
  p = simt::fma(p, t, 1.33207247e-1F);
  p = simt::fma(p, t, -3.33329469e-1F);
  const float small = simt::fma(simt::mul(p, t), u, u);
  const float e = exp_of(simt::add(u, u));
  const float large = simt::sub(1.0F, simt::div(2.0F, simt::add(e, 1.0F)));
  return 0.55F < magnitude(u) ? large : small;
}

OCTAVO_GPU_DEVICE float sigmoid(float x) { return simt::div(1.0F, simt::add(1.0F, exp_of(simt::sub(0.0F, x)))); }
OCTAVO_GPU_DEVICE float silu(float x) { return simt::div(x, simt::add(1.0F, exp_of(simt::sub(0.0F, x)))); }

OCTAVO_GPU_DEVICE float gelu_tanh(float x) {
  const float cubic = simt::fma(simt::mul(simt::mul(x, x), x), 0.044715F, x);
  const float e = exp_of(simt::mul(cubic, 2.0F * 0.79788456F));
  const float tanh = simt::sub(1.0F, simt::div(2.0F, simt::add(e, 1.0F)));
  return simt::mul(simt::mul(0.5F, x), simt::add(1.0F, tanh));
}

OCTAVO_GPU_DEVICE float gelu_erf(float x) {
  const float z = simt::mul(magnitude(x), 0.70710678F);
  const float t = simt::div(1.0F, simt::fma(z, 0.3275911F, 1.0F));
  float p = 1.061405429F;
  p = simt::fma(p, t, -1.453152027F);
  p = simt::fma(p, t, 1.421413741F);
  p = simt::fma(p, t, -0.284496736F);
  p = simt::fma(p, t, 0.254829592F);
  const float tail = simt::mul(simt::mul(simt::mul(p, t), 0.5F), exp_of(simt::sub(0.0F, simt::mul(z, z))));
  return simt::mul(x, x < 0.0F ? tail : simt::sub(1.0F, tail));
}

/// activation(gate, up) of one element; without `is_gated` the activation of `gate` alone.
OCTAVO_GPU_DEVICE float activate(Activation activation, float gate, float up, bool is_gated) {
  switch (activation) {
    case Activation::kSilu: return simt::mul(silu(gate), up);
    case Activation::kGeluTanh: return simt::mul(gelu_tanh(gate), up);
    case Activation::kGelu: return is_gated ? simt::mul(gelu_erf(gate), up) : gelu_erf(gate);
    case Activation::kClampedSwiglu: break;
  }
  const float limit = 7.0F, slope = -1.702F;
  const float g = limit < gate ? limit : gate;
  const float bounded = limit < up ? limit : up, u = bounded < -limit ? -limit : bounded;
  return simt::mul(simt::div(g, simt::add(1.0F, exp_of(simt::mul(slope, g)))), simt::add(u, 1.0F));
}

/// The sum of lane `t` and the lane `m` away, level by level, over `lanes` lanes: the halves of them are added until
/// one is left, in lane 0. All lanes of a warp call it.
OCTAVO_GPU_DEVICE float sum_of_lanes(float v, int lanes) {
  for (int m = lanes / 2; m > 0; m /= 2) v = simt::add(v, simt::shuffle_xor(v, m));
  return v;
}
OCTAVO_GPU_DEVICE float largest_of_warp(float v) {
  for (int m = 16; m > 0; m /= 2) v = larger_of(simt::shuffle_xor(v, m), v);
  return v;
}

/// The sum of squares of a row by one warp: four sums of `lanes` lanes (8 or 16), as the processor's level has them.
/// All lanes get it.
OCTAVO_GPU_DEVICE float sum_of_squares(const float* row, int n, int lanes, int lane) {
  const int chains = 4 * lanes, whole = n / chains * chains;
  float sums[2] = {0.0F, 0.0F};  // chains `lane` and `lane` + 32, of which 8 lanes have but the first
  for (int k = lane; k < whole; k += chains) sums[0] = simt::fma(row[k], row[k], sums[0]);
  if (chains > 32)
    for (int k = lane + 32; k < whole; k += chains) sums[1] = simt::fma(row[k], row[k], sums[1]);
  if (lane < lanes)
    for (int k = whole + lane; k < n; k += lanes) sums[0] = simt::fma(row[k], row[k], sums[0]);
  float all = simt::add(sums[0], simt::shuffle_xor(sums[0], lanes));
  if (chains > 32) {
    all = simt::add(all, simt::add(sums[1], simt::shuffle_xor(sums[1], lanes)));
  } else {
    all = simt::add(all, simt::shuffle_xor(all, 2 * lanes));
  }
  return sum_of_lanes(all, lanes);
}

/// One over the root of a row's mean square.
OCTAVO_GPU_DEVICE float rms_factor(float squares, int n, float epsilon) {
  return simt::div(1.0F, simt::root(simt::add(simt::div(squares, simt::to_float(n)), epsilon)));
}

}  // namespace octavo::gpu
