// The functions of base/math.h that a GPU computes too, and what the GPU's other functions are made of. Processor and
// GPU compile this text (gpu/kernels), so it includes nothing, and products are not fused with sums.
//
// Leading parts are kept as sums of two numbers (Dekker, "A floating-point technique for extending the available
// precision", 1971), so that a result has little more error than its last rounding. The rest are Taylor polynomials of
// arguments that are brought near 0 first (Cody and Waite, "Software manual for the elementary functions", 1980).
#pragma once

namespace octavo::portable {

/// The unrounded sum high + low; low is at most half a unit in the last place of high.
struct DoublePair {
  double high, low;
};

/// The exact sum a + b, where |a| >= |b| or a is 0.
constexpr DoublePair ordered_sum(double a, double b) {
  const double sum = a + b;
  return {sum, b - (sum - a)};
}
/// The exact sum a + b.
constexpr DoublePair exact_sum(double a, double b) {
  const double sum = a + b, of_b = sum - a;
  return {sum, (a - (sum - of_b)) + (b - of_b)};
}
constexpr DoublePair split(double x) {
  const double c = (0x1p27 + 1) * x, high = c - (c - x);
  return {high, x - high};
}
/// The exact product a * b, up to 2^996.
constexpr DoublePair exact_product(double a, double b) {
  const double product = a * b;
  const DoublePair x = split(a), y = split(b);
  return {product, ((x.high * y.high - product) + x.high * y.low + x.low * y.high) + x.low * y.low};
}
constexpr DoublePair operator+(const DoublePair& a, const DoublePair& b) {
  const DoublePair s = exact_sum(a.high, b.high);
  return ordered_sum(s.high, s.low + (a.low + b.low));
}
constexpr DoublePair operator*(const DoublePair& a, const DoublePair& b) {
  const DoublePair p = exact_product(a.high, b.high);
  return ordered_sum(p.high, p.low + (a.high * b.low + a.low * b.high));
}

/// The nearest integer to x, for |x| < 2^51.
constexpr double nearest(double x) { return (x + 0x1.8p52) - 0x1.8p52; }

/// 2^k, for k from -1022 to 1023.
constexpr double power_of_2(int k) { return __builtin_bit_cast(double, (long long)(k + 1023) << 52); }

/// terms[0] + terms[1] x + ...
template <int N>
constexpr double polynomial(const double (&terms)[N], double x) {
  double value = terms[N - 1];
  for (int i = N - 2; i >= 0; --i) value = value * x + terms[i];
  return value;
}

inline constexpr double kInfinity = __builtin_inf(), kNan = __builtin_nan("");
inline constexpr double kByLn2 = 0x1.71547652b82fep+0;
// The first part of log(2) has 32 digits, so that its product with an exponent is exact.
inline constexpr double kLn2Short = 0x1.62e42feep-1, kLn2Rest = 0x1.a39ef35793c76p-33;

/// 2^k e^x, for |x| <= 0.35.
constexpr double scaled_exp(const DoublePair& x, int k) {
  constexpr double kTerms[] = {
      // 1 / 2!, 1 / 3! ...
      1.0 / 2,      1.0 / 6,       1.0 / 24,       1.0 / 120,       1.0 / 720,          1.0 / 5040,         1.0 / 40320,
      1.0 / 362880, 1.0 / 3628800, 1.0 / 39916800, 1.0 / 479001600, 1.0 / 6227020800.0, 1.0 / 87178291200.0};
  const DoublePair r = ordered_sum(x.high, x.low);
  const double rest = r.high * r.high * polynomial(kTerms, r.high) + (r.low + r.low * r.high);
  const DoublePair first = ordered_sum(1, r.high);
  const double result = first.high + (first.low + rest);
  const int half = k / 2;
  return result * power_of_2(half) * power_of_2(k - half);
}

constexpr double exp_of(const DoublePair& x) {
  constexpr double kMost = 709.79, kLeast = -745.14;
  if (!(x.high < kMost)) return x.high > 0 ? kInfinity : x.high;
  if (x.high < kLeast) return 0;
  const double k = nearest(x.high * kByLn2);
  const DoublePair r = exact_sum(x.high, -k * kLn2Short);
  return scaled_exp({r.high, r.low + (x.low - k * kLn2Rest)}, (int)k);
}

/// x = 2^exponent * fraction, with a fraction from about 0.7 to 1.4.
struct ExponentAndFraction {
  int exponent;
  double fraction;
};
constexpr ExponentAndFraction parts_of(double x) {
  constexpr long long kRootOfHalf = 0x3fe6a09e667f3bcd, kFraction = (1LL << 52) - 1;
  int exponent = 0;
  if (x < 0x1p-1022) x *= 0x1p54, exponent = -54;
  const long long bits = __builtin_bit_cast(long long, x) - kRootOfHalf;
  return {exponent + (int)(bits >> 52), __builtin_bit_cast(double, (bits & kFraction) + kRootOfHalf)};
}

/// log(fraction) = 2 s + 2 s^3 / 3 + 2 s^5 / 5 ..., s = (fraction - 1) / (fraction + 1).
constexpr DoublePair log_of_fraction(double fraction) {
  constexpr DoublePair kThird = {0x1.5555555555555p-2, 0x1.5555555555555p-56};
  constexpr double kTerms[] = {1.0 / 5,  1.0 / 7,  1.0 / 9,  1.0 / 11, 1.0 / 13, 1.0 / 15,
                               1.0 / 17, 1.0 / 19, 1.0 / 21, 1.0 / 23, 1.0 / 25};
  const double above = fraction - 1;  // it is exact
  const DoublePair below = exact_sum(above, 2);
  const double quotient = above / below.high;
  const DoublePair back = exact_product(quotient, below.high);
  const double left = ((above - back.high) - back.low) - quotient * below.low;
  const DoublePair s = {quotient, left / below.high};
  const DoublePair square = s * s;
  const DoublePair series = exact_sum(kThird.high, square.high * polynomial(kTerms, square.high));
  const DoublePair whole = s + s * (square * (series + DoublePair{0, kThird.low}));
  return {2 * whole.high, 2 * whole.low};
}

/// log(x) of a finite x above 0.
constexpr DoublePair log_of(double x) {
  const ExponentAndFraction parts = parts_of(x);
  const DoublePair of_fraction = log_of_fraction(parts.fraction);
  if (parts.exponent == 0) return of_fraction;
  const double k = parts.exponent;
  return DoublePair{k * kLn2Short, 0} + (exact_sum(of_fraction.high, k * kLn2Rest) + DoublePair{0, of_fraction.low});
}

/// Whether log(x) is not finite; then `result` is that infinity or NaN.
constexpr bool has_no_log(double x, double& result) {
  if (x > 0 && x < kInfinity) return false;
  result = x == 0 ? -kInfinity : x > 0 ? kInfinity : kNan;
  return true;
}

constexpr double log1p_of(double x) {
  double result = 0;
  if (has_no_log(1 + x, result)) return result;
  const DoublePair whole = exact_sum(1, x), of_high = log_of(whole.high);
  return (exact_sum(of_high.high, whole.low / whole.high) + DoublePair{0, of_high.low}).high;
}

}  // namespace octavo::portable
