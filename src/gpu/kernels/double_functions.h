// exp and log1p of float64 with the bits of base/math.h: the same operations in the same order, each rounded once.
#pragma once

#include "gpu/simt.h"

namespace octavo::gpu {

/// high + low, a sum that is not made.
struct DoublePair {
  double high, low;
};

/// a + b, exactly, where |a| >= |b| or a is 0.
OCTAVO_GPU_DEVICE DoublePair ordered_sum(double a, double b) {
  const double sum = simt::add(a, b);
  return {sum, simt::sub(b, simt::sub(sum, a))};
}
/// a + b, exactly.
OCTAVO_GPU_DEVICE DoublePair exact_sum(double a, double b) {
  const double sum = simt::add(a, b), of_b = simt::sub(sum, a);
  return {sum, simt::add(simt::sub(a, simt::sub(sum, of_b)), simt::sub(b, of_b))};
}
OCTAVO_GPU_DEVICE DoublePair split(double x) {
  const double c = simt::mul(0x1p27 + 1, x), high = simt::sub(c, simt::sub(c, x));
  return {high, simt::sub(x, high)};
}
/// a * b, exactly.
OCTAVO_GPU_DEVICE DoublePair exact_product(double a, double b) {
  const double product = simt::mul(a, b);
  const DoublePair x = split(a), y = split(b);
  double low = simt::sub(simt::mul(x.high, y.high), product);
  low = simt::add(simt::add(low, simt::mul(x.high, y.low)), simt::mul(x.low, y.high));
  return {product, simt::add(low, simt::mul(x.low, y.low))};
}
OCTAVO_GPU_DEVICE DoublePair sum_of(const DoublePair& a, const DoublePair& b) {
  const DoublePair s = exact_sum(a.high, b.high);
  return ordered_sum(s.high, simt::add(s.low, simt::add(a.low, b.low)));
}
OCTAVO_GPU_DEVICE DoublePair product_of(const DoublePair& a, const DoublePair& b) {
  const DoublePair p = exact_product(a.high, b.high);
  return ordered_sum(p.high, simt::add(p.low, simt::add(simt::mul(a.high, b.low), simt::mul(a.low, b.high))));
}

/// 2^k, for k from -1022 to 1023.
OCTAVO_GPU_DEVICE double power_of_2(int k) { return simt::as_double((int64_t)(k + 1023) << 52); }

/// terms[0] + terms[1] x + ...
template <int N>
OCTAVO_GPU_DEVICE double polynomial(const double (&terms)[N], double x) {
  double value = terms[N - 1];
  OCTAVO_GPU_UNROLL
  for (int i = N - 2; i >= 0; --i) value = simt::add(simt::mul(value, x), terms[i]);
  return value;
}

inline constexpr double kLn2Short = 0x1.62e42feep-1, kLn2Rest = 0x1.a39ef35793c76p-33;

OCTAVO_GPU_DEVICE double exp_of(double x) {
  constexpr double kTerms[] = {
      1.0 / 2,      1.0 / 6,       1.0 / 24,       1.0 / 120,       1.0 / 720,          1.0 / 5040,         1.0 / 40320,
      1.0 / 362880, 1.0 / 3628800, 1.0 / 39916800, 1.0 / 479001600, 1.0 / 6227020800.0, 1.0 / 87178291200.0};
  if (!(x < 709.79)) return x > 0 ? simt::as_double((int64_t)0x7FF << 52) : x;
  if (x < -745.14) return 0;
  const double to_integer = 0x1.8p52;
  const double k = simt::sub(simt::add(simt::mul(x, 0x1.71547652b82fep+0), to_integer), to_integer);
  const DoublePair first_rest = exact_sum(x, simt::mul(-k, kLn2Short));
  const double low = simt::add(first_rest.low, simt::sub(0, simt::mul(k, kLn2Rest)));
  const DoublePair r = ordered_sum(first_rest.high, low);
  const double rest = simt::add(simt::mul(simt::mul(r.high, r.high), polynomial(kTerms, r.high)),
                                simt::add(r.low, simt::mul(r.low, r.high)));
  const DoublePair first = ordered_sum(1, r.high);
  const double result = simt::add(first.high, simt::add(first.low, rest));
  const int exponent = simt::to_int(k), half = exponent / 2;
  return simt::mul(simt::mul(result, power_of_2(half)), power_of_2(exponent - half));
}

/// log(fraction) = 2 s + 2 s^3 / 3 + ..., s = (fraction - 1) / (fraction + 1), for a fraction from about 0.7 to 1.4.
OCTAVO_GPU_DEVICE DoublePair log_of_fraction(double fraction) {
  constexpr double kTerms[] = {1.0 / 5,  1.0 / 7,  1.0 / 9,  1.0 / 11, 1.0 / 13, 1.0 / 15,
                               1.0 / 17, 1.0 / 19, 1.0 / 21, 1.0 / 23, 1.0 / 25};
  const double above = simt::sub(fraction, 1);
  const DoublePair below = exact_sum(above, 2);
  const double quotient = simt::div(above, below.high);
  const DoublePair back = exact_product(quotient, below.high);
  const double left = simt::sub(simt::sub(simt::sub(above, back.high), back.low), simt::mul(quotient, below.low));
  const DoublePair s = {quotient, simt::div(left, below.high)};
  const DoublePair square = product_of(s, s);
  const DoublePair series = exact_sum(0x1.5555555555555p-2, simt::mul(square.high, polynomial(kTerms, square.high)));
  const DoublePair tail = product_of(square, sum_of(series, {0, 0x1.5555555555555p-56}));
  const DoublePair whole = sum_of(s, product_of(s, tail));
  return {simt::mul(2, whole.high), simt::mul(2, whole.low)};
}

/// log(x) of a finite x that is 1 or more.
OCTAVO_GPU_DEVICE DoublePair log_of(double x) {
  const int64_t root_of_half = 0x3fe6a09e667f3bcd, bits = simt::as_long(x) - root_of_half;
  const DoublePair of_fraction = log_of_fraction(simt::as_double((bits & (((int64_t)1 << 52) - 1)) + root_of_half));
  const int exponent = (int)(bits >> 52);
  if (exponent == 0) return of_fraction;
  const double k = simt::to_double(exponent);
  const DoublePair rest = sum_of(exact_sum(of_fraction.high, simt::mul(k, kLn2Rest)), {0, of_fraction.low});
  return sum_of({simt::mul(k, kLn2Short), 0}, rest);
}

/// log(1 + x) of a finite x that is 0 or more, or NaN.
OCTAVO_GPU_DEVICE double log1p_of(double x) {
  if (x != x) return x;
  const DoublePair whole = exact_sum(1, x), of_high = log_of(whole.high);
  return sum_of(exact_sum(of_high.high, simt::div(whole.low, whole.high)), {0, of_high.low}).high;
}

}  // namespace octavo::gpu
