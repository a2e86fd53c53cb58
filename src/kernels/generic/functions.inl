// Functions of floats over the names of an arithmetic: vectors on the processor (kernels/isa/simd_*.h), one number on a
// card (gpu/kernels/functions.h), with the same bits. It is included within the namespace of that arithmetic.
// OCTAVO_FUNCTION stands in front of each function.

/// e^x for x up to 88; below -87 the result is 0. Relative error under 2 ulp (Cody-Waite reduction, degree 6).
OCTAVO_FUNCTION F32 f32_exp(F32 x) {
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

/// Softmax weights below 2^kLeastExponent are 0. They are too small to change a sum that includes a 1, and the others,
/// times a half of 2^-24 or more, stay normal numbers: processors are many times slower with subnormal numbers.
inline constexpr float kLeastExponent = -100.0F;
inline constexpr float kLog2E = 1.44269504F;

/// 2^x for x <= 0, with a relative error of 1e-7 (minimax of degree 5 on [-1/2, 1/2]). It is 0 from kLeastExponent
/// down, and for a NaN, whose bits would make a weight of any size.
OCTAVO_FUNCTION F32 f32_exp2_of_negative(F32 x) {
  const F32 to_integer = f32_set(12582912.0F);  // 1.5 * 2^23: adding it rounds, and leaves the integer in the low bits
  const F32 shifted = f32_add(x, to_integer);
  const F32 f = f32_sub(x, f32_sub(shifted, to_integer));
  F32 p = f32_set(1.32647273e-3F);
  p = f32_fma(p, f, f32_set(9.67151299e-3F));
  p = f32_fma(p, f, f32_set(5.55073358e-2F));
  p = f32_fma(p, f, f32_set(2.40222424e-1F));
  p = f32_fma(p, f, f32_set(6.93147004e-1F));
  p = f32_fma(p, f, f32_set(1.0F));
  const F32 power = i32_as_f32(i32_add(f32_as_i32(p), i32_shl<23>(f32_as_i32(shifted))));
  return f32_select(f32_less(f32_set(kLeastExponent), x), power, f32_zero());
}

/// tanh(u) with a relative error of 3e-7; a NaN stays that NaN. 1 - 2 / (exp(2 u) + 1) alone would lose the digits of a
/// small u, so for it this is the odd polynomial of degree 9 (minimax on [-0.55, 0.55]).
OCTAVO_FUNCTION F32 f32_tanh(F32 u) {
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

OCTAVO_FUNCTION F32 sigmoid(F32 x) {
  return f32_div(f32_set(1.0F), f32_add(f32_set(1.0F), f32_exp(f32_sub(f32_zero(), x))));
}

OCTAVO_FUNCTION F32 silu(F32 x) { return f32_div(x, f32_add(f32_set(1.0F), f32_exp(f32_sub(f32_zero(), x)))); }

// gelu by tanh(u) = 1 - 2 / (exp(2u) + 1); u = sqrt(2 / pi) (x + 0.044715 x^3).
OCTAVO_FUNCTION F32 gelu(F32 x) {
  const F32 cubic = f32_fma(f32_mul(f32_mul(x, x), x), f32_set(0.044715F), x);
  const F32 e = f32_exp(f32_mul(cubic, f32_set(2.0F * 0.79788456F)));
  const F32 tanh = f32_sub(f32_set(1.0F), f32_div(f32_set(2.0F), f32_add(e, f32_set(1.0F))));
  return f32_mul(f32_mul(f32_set(0.5F), x), f32_add(f32_set(1.0F), tanh));
}

/// x Phi(x), with Phi from erf: 1 - (a1 t + ... + a5 t^5) exp(-z^2), z = |x| / sqrt(2), t = 1 / (1 + p z) (Abramowitz
/// and Stegun 1964, 7.1.26: an error below 1.5e-7).
OCTAVO_FUNCTION F32 gelu_erf(F32 x) {
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

OCTAVO_FUNCTION F32 squared_relu(F32 x) {
  const F32 above = f32_select(f32_less(x, f32_zero()), f32_zero(), x);
  return f32_mul(above, above);
}

/// e^x - 1 - x for x <= 0: a sum of powers (to degree 9) near 0, where the difference would lose the digits.
OCTAVO_FUNCTION F32 exp_beyond_line(F32 x) {
  F32 p = f32_set(1.0F / 362880);
  p = f32_fma(p, x, f32_set(1.0F / 40320));
  p = f32_fma(p, x, f32_set(1.0F / 5040));
  p = f32_fma(p, x, f32_set(1.0F / 720));
  p = f32_fma(p, x, f32_set(1.0F / 120));
  p = f32_fma(p, x, f32_set(1.0F / 24));
  p = f32_fma(p, x, f32_set(1.0F / 6));
  p = f32_fma(p, x, f32_set(0.5F));
  const F32 far = f32_sub(f32_sub(f32_exp(x), f32_set(1.0F)), x);
  return f32_select(f32_less(x, f32_set(-1.0F)), far, f32_mul(f32_mul(p, x), x));
}

OCTAVO_FUNCTION F32 xielu(F32 x, F32 above, F32 below, F32 slope, F32 most) {
  const F32 bounded = f32_select(f32_less(most, x), most, x);
  const F32 curve = f32_mul(below, f32_add(exp_beyond_line(bounded), f32_sub(bounded, x)));
  const F32 square = f32_mul(f32_mul(above, x), x);
  return f32_fma(slope, x, f32_select(f32_less(f32_zero(), x), square, curve));
}

// Comparisons are used, because the minimum of a NaN and a number differs from level to level.
OCTAVO_FUNCTION F32 clamped_swiglu(F32 gate, F32 up) {
  const F32 most = f32_set(kSwigluLimit), least = f32_set(-kSwigluLimit), one = f32_set(1.0F);
  const F32 g = f32_select(f32_less(most, gate), most, gate);
  const F32 bounded = f32_select(f32_less(most, up), most, up);
  const F32 u = f32_select(f32_less(bounded, least), least, bounded);
  return f32_mul(f32_div(g, f32_add(one, f32_exp(f32_mul(f32_set(-kSwigluSlope), g)))), f32_add(u, one));
}
