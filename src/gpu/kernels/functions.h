// Functions of single floats, with the bits of the processor's kernels by a shared source (generic/functions.inl).
#pragma once

#include "gpu/simt.h"
#include "kernels/kernels.h"
#include "model/activation.h"

namespace octavo::gpu {

// The arithmetic that the shared source calls, over single floats; kernels/isa/simd_scalar.h says what each name means.
using F32 = float;
using I32 = int;
OCTAVO_GPU_DEVICE F32 f32_set(float x) { return x; }
OCTAVO_GPU_DEVICE F32 f32_zero() { return 0.0F; }
OCTAVO_GPU_DEVICE F32 f32_add(F32 a, F32 b) { return simt::add(a, b); }
OCTAVO_GPU_DEVICE F32 f32_sub(F32 a, F32 b) { return simt::sub(a, b); }
OCTAVO_GPU_DEVICE F32 f32_mul(F32 a, F32 b) { return simt::mul(a, b); }
OCTAVO_GPU_DEVICE F32 f32_div(F32 a, F32 b) { return simt::div(a, b); }
OCTAVO_GPU_DEVICE F32 f32_fma(F32 a, F32 b, F32 c) { return simt::fma(a, b, c); }
/// The larger of two floats; b where either is NaN, as in the processor's instruction. f32_min() is like it.
OCTAVO_GPU_DEVICE F32 f32_max(F32 a, F32 b) { return a > b ? a : b; }
OCTAVO_GPU_DEVICE F32 f32_min(F32 a, F32 b) { return a < b ? a : b; }
OCTAVO_GPU_DEVICE F32 f32_abs(F32 a) { return simt::as_float(simt::as_int(a) & 0x7FFFFFFF); }
OCTAVO_GPU_DEVICE bool f32_less(F32 a, F32 b) { return a < b; }
OCTAVO_GPU_DEVICE F32 f32_select(bool holds, F32 a, F32 b) { return holds ? a : b; }
OCTAVO_GPU_DEVICE I32 f32_round(F32 a) { return simt::to_int(a); }
OCTAVO_GPU_DEVICE I32 f32_as_i32(F32 a) { return simt::as_int(a); }
OCTAVO_GPU_DEVICE F32 i32_to_f32(I32 a) { return simt::to_float(a); }
OCTAVO_GPU_DEVICE F32 i32_as_f32(I32 a) { return simt::as_float(a); }
OCTAVO_GPU_DEVICE I32 i32_set(int32_t x) { return x; }
OCTAVO_GPU_DEVICE I32 i32_add(I32 a, I32 b) { return (int)((unsigned)a + (unsigned)b); }
template <int N>
OCTAVO_GPU_DEVICE I32 i32_shl(I32 a) {
  return (int)((unsigned)a << N);
}

#define OCTAVO_FUNCTION OCTAVO_GPU_DEVICE
#include "kernels/generic/functions.inl"
#undef OCTAVO_FUNCTION

OCTAVO_GPU_DEVICE float minus_infinity() { return simt::as_float((int)0xFF800000U); }

/// activation(gate, up) of one element; where `is_gated` is false, the activation of `gate` alone.
OCTAVO_GPU_DEVICE float activate(Activation activation, float gate, float up, bool is_gated) {
  switch (activation) {
    case Activation::kSilu: return simt::mul(silu(gate), up);
    case Activation::kGeluTanh: return is_gated ? simt::mul(gelu(gate), up) : gelu(gate);
    case Activation::kGelu: return is_gated ? simt::mul(gelu_erf(gate), up) : gelu_erf(gate);
    case Activation::kSquaredRelu: return is_gated ? simt::mul(squared_relu(gate), up) : squared_relu(gate);
    case Activation::kXielu:  // only the processor computes it (gpu/placement.cc)
    case Activation::kClampedSwiglu: break;
  }
  return clamped_swiglu(gate, up);
}

/// The sum of v over `lanes` lanes, made level by level: the upper half of the lanes is added to the lower half until
/// one is left, in lane 0. All lanes of a warp call it.
OCTAVO_GPU_DEVICE float sum_of_lanes(float v, int lanes) {
  for (int m = lanes / 2; m > 0; m /= 2) v = simt::add(v, simt::shuffle_xor(v, m));
  return v;
}
OCTAVO_GPU_DEVICE float largest_of_warp(float v) {
  for (int m = 16; m > 0; m /= 2) v = f32_max(simt::shuffle_xor(v, m), v);
  return v;
}

/// The sum of squares of a row, by one warp: four sums of `lanes` lanes (8 or 16), as on the processor's level. All
/// lanes get the result.
OCTAVO_GPU_DEVICE float sum_of_squares(const float* row, int n, int lanes, int lane) {
  const int chains = 4 * lanes, whole = n / chains * chains;
  float sums[2] = {0.0F, 0.0F};  // chains `lane` and `lane` + 32; with 8 lanes there is only the first
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
