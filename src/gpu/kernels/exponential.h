// e^x of float64 with the bits of portable::exp() (base/math.h): the same additions and multiplications, each rounded
// once.
#pragma once

#include "gpu/simt.h"

namespace octavo::gpu {

/// high + low, a sum that is not made: low is at most half of high's last digit.
struct DoublePair {
  double high, low;
};

/// a + b, exactly, where |a| >= |b| or a is 0.
OCTAVO_GPU_DEVICE DoublePair ordered_pair(double a, double b) {
  const double sum = simt::add(a, b);
  return {sum, simt::sub(b, simt::sub(sum, a))};
}
/// a + b, exactly.
OCTAVO_GPU_DEVICE DoublePair pair_of(double a, double b) {
  const double sum = simt::add(a, b), of_b = simt::sub(sum, a);
  return {sum, simt::add(simt::sub(a, simt::sub(sum, of_b)), simt::sub(b, of_b))};
}

/// 2^k, for k from -1022 to 1023.
OCTAVO_GPU_DEVICE double power_of_2(int k) { return simt::as_double((int64_t)((uint64_t)(k + 1023) << 52)); }

/// 1 / 2!, 1 / 3! ...
struct ExpTerms {
  double of[13];
};
static inline constexpr ExpTerms exp_terms() {
  ExpTerms terms{};
  double factorial = 1;  // exact up to 18!
  for (int i = 0; i < 13; ++i) terms.of[i] = 1 / (factorial *= i + 2);
  return terms;
}

/// e^x for x <= 0.
OCTAVO_GPU_DEVICE double exp_of_negative(double x) {
  const double to_integer = 0x1.8p52, one_by_ln2 = 0x1.71547652b82fep+0;
  const double ln2_short = 0x1.62e42feep-1, ln2_rest = 0x1.a39ef35793c76p-33;
  if (x < -745.14) return 0;
  const double k = simt::sub(simt::add(simt::mul(x, one_by_ln2), to_integer), to_integer);
  const DoublePair rest = pair_of(x, simt::mul(-k, ln2_short));
  const DoublePair r = ordered_pair(rest.high, simt::add(rest.low, simt::sub(0.0, simt::mul(k, ln2_rest))));
  constexpr ExpTerms terms = exp_terms();
  double p = terms.of[12];
  OCTAVO_GPU_UNROLL
  for (int i = 11; i >= 0; --i) p = simt::add(simt::mul(p, r.high), terms.of[i]);
  const double tail = simt::add(simt::mul(simt::mul(r.high, r.high), p), simt::add(r.low, simt::mul(r.low, r.high)));
  const DoublePair first = ordered_pair(1, r.high);
  const double result = simt::add(first.high, simt::add(first.low, tail));
  const int exponent = (int)k, half = exponent / 2;
  return simt::mul(simt::mul(result, power_of_2(half)), power_of_2(exponent - half));
}

}  // namespace octavo::gpu
