#include "base/math.h"

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>

// Leading parts are kept as sums of two numbers (Dekker, "A floating-point technique for extending the available
// precision", 1971), so that a result has little more error than its last rounding. The rest are Taylor polynomials of
// arguments that are brought near 0 first (Cody and Waite, "Software manual for the elementary functions", 1980).
namespace octavo::portable {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

/// high + low, a sum that is not made: low is at most half of high's last digit.
struct Pair {
  double high, low;
};

/// a + b, exactly, where |a| >= |b| or a is 0.
Pair ordered_sum(double a, double b) {
  const double sum = a + b;
  return {sum, b - (sum - a)};
}
/// a + b, exactly.
Pair sum(double a, double b) {
  const double sum = a + b, of_b = sum - a;
  return {sum, (a - (sum - of_b)) + (b - of_b)};
}
/// a * b, exactly, up to 2^996.
Pair product(double a, double b) {
  constexpr double kSplit = 0x1p27 + 1;
  const auto split = [](double x) -> Pair {
    const double c = kSplit * x, high = c - (c - x);
    return {high, x - high};
  };
  const double product = a * b;
  const auto [a1, a2] = split(a);
  const auto [b1, b2] = split(b);
  return {product, ((a1 * b1 - product) + a1 * b2 + a2 * b1) + a2 * b2};
}
Pair operator+(const Pair& a, const Pair& b) {
  const Pair s = sum(a.high, b.high);
  return ordered_sum(s.high, s.low + (a.low + b.low));
}
Pair operator*(const Pair& a, const Pair& b) {
  const Pair p = product(a.high, b.high);
  return ordered_sum(p.high, p.low + (a.high * b.low + a.low * b.high));
}

/// The nearest integer; of |x| < 2^51.
double nearest(double x) {
  constexpr double kShift = 0x1.8p52;
  return (x + kShift) - kShift;
}

/// 2^k, for k from -1022 to 1023.
double power_of_2(int k) { return std::bit_cast<double>(static_cast<std::uint64_t>(k + 1023) << 52); }

/// terms[0] + terms[1] x + ...
template <std::size_t N>
double polynomial(const std::array<double, N>& terms, double x) {
  double value = terms[N - 1];
  for (std::size_t i = N - 1; i-- > 0;) value = value * x + terms[i];
  return value;
}

constexpr Pair kLn2 = {0x1.62e42fefa39efp-1, 0x1.abc9e3b39803fp-56};
// The first part has 32 digits, so that its product with an exponent is exact.
constexpr double kLn2Short = 0x1.62e42feep-1, kLn2Rest = 0x1.a39ef35793c76p-33;
constexpr Pair kOneByLn2 = {0x1.71547652b82fep+0, 0x1.777d0ffda0d24p-56};

/// 1 / 2!, 1 / 3! ...
constexpr std::array<double, 13> kExpTerms = [] {
  std::array<double, 13> terms{};
  double factorial = 1;  // exact up to 18!
  for (std::size_t i = 0; i < terms.size(); ++i) terms[i] = 1 / (factorial *= static_cast<double>(i + 2));
  return terms;
}();

/// 2^k e^x, for |x| <= 0.35.
double scaled_exp(const Pair& x, int k) {
  const Pair r = ordered_sum(x.high, x.low);
  const double rest = r.high * r.high * polynomial(kExpTerms, r.high) + (r.low + r.low * r.high);
  const Pair first = ordered_sum(1, r.high);
  const double result = first.high + (first.low + rest);
  const int half = k / 2;
  return result * power_of_2(half) * power_of_2(k - half);
}

double exp_of(const Pair& x) {
  constexpr double kMost = 709.79, kLeast = -745.14;
  if (!(x.high < kMost)) return x.high > 0 ? kInfinity : x.high;
  if (x.high < kLeast) return 0;
  const double k = nearest(x.high * kOneByLn2.high);
  const Pair r = sum(x.high, -k * kLn2Short);
  return scaled_exp({r.high, r.low + (x.low - k * kLn2Rest)}, static_cast<int>(k));
}

/// x = 2^exponent * fraction, the fraction from about 0.7 to 1.4.
struct Parts {
  int exponent;
  double fraction;
};
Parts parts_of(double x) {
  int exponent = 0;
  if (x < std::numeric_limits<double>::min()) x *= 0x1p54, exponent = -54;
  constexpr std::uint64_t kRootOfHalf = 0x3fe6a09e667f3bcd, kFraction = (std::uint64_t{1} << 52) - 1;
  const std::uint64_t bits = std::bit_cast<std::uint64_t>(x) - kRootOfHalf;
  exponent += static_cast<int>(static_cast<std::int64_t>(bits) >> 52);
  return {exponent, std::bit_cast<double>((bits & kFraction) + kRootOfHalf)};
}

/// log(fraction) = 2 s + 2 s^3 / 3 + 2 s^5 / 5 ..., s = (fraction - 1) / (fraction + 1).
Pair log_of_fraction(double fraction) {
  constexpr Pair kThird = {0x1.5555555555555p-2, 0x1.5555555555555p-56};
  static constexpr std::array<double, 11> kTerms = {1.0 / 5,  1.0 / 7,  1.0 / 9,  1.0 / 11, 1.0 / 13, 1.0 / 15,
                                                    1.0 / 17, 1.0 / 19, 1.0 / 21, 1.0 / 23, 1.0 / 25};
  const double above = fraction - 1;  // exact
  const Pair below = sum(above, 2);
  const double quotient = above / below.high;
  const Pair back = product(quotient, below.high);
  const double left = ((above - back.high) - back.low) - quotient * below.low;
  const Pair s = {quotient, left / below.high};
  const Pair square = s * s;
  const Pair tail = square * (sum(kThird.high, square.high * polynomial(kTerms, square.high)) + Pair{0, kThird.low});
  const Pair whole = s + s * tail;
  return {2 * whole.high, 2 * whole.low};
}

Pair log_of(double x) {
  const auto [exponent, fraction] = parts_of(x);
  const Pair of_fraction = log_of_fraction(fraction);
  if (exponent == 0) return of_fraction;
  const double k = exponent;
  return Pair{k * kLn2Short, 0} + (sum(of_fraction.high, k * kLn2Rest) + Pair{0, of_fraction.low});
}

/// Whether log(x) is no finite number, which `result` then is.
bool has_no_log(double x, double& result) {
  if (x > 0 && x < kInfinity) return false;
  result = x == 0 ? -kInfinity : x > 0 ? kInfinity : kNan;
  return true;
}

/// An angle less a number of quarter turns, |rest| <= pi / 4.
struct QuarterTurns {
  Pair rest;
  int quarters;  // 0 to 3
};
QuarterTurns quarter_turns(double x) {
  constexpr double kQuartersByRadian = 0x1.45f306dc9c883p-1;
  // Parts of 22 digits, whose products with numbers up to 2^31 are exact.
  static constexpr std::array<double, 5> kQuarter = {0x1.921fbp+0, 0x1.5110bp-22, 0x1.1846980p-44, 0x1.3198ap-69,
                                                     0x1.701b839a25205p-92};
  constexpr double kCountable = 0x1p50;
  const double turns = x * kQuartersByRadian;
  if (!(std::abs(turns) < kCountable)) return {{std::isfinite(x) ? 0 : kNan, 0}, 0};
  const double count = nearest(turns);
  Pair rest = {x, 0};
  for (const double part : kQuarter) rest = rest + Pair{-count * part, 0};
  return {rest, static_cast<int>(static_cast<std::int64_t>(count) & 3)};
}

double sin_of(const Pair& r) {
  static constexpr std::array<double, 8> kTerms = {-1.0 / 6,
                                                   1.0 / 120,
                                                   -1.0 / 5040,
                                                   1.0 / 362880,
                                                   -1.0 / 39916800,
                                                   1.0 / 6227020800.0,
                                                   -1.0 / 1307674368000.0,
                                                   1.0 / 355687428096000.0};
  const double square = r.high * r.high;
  return r.high + (r.high * square * polynomial(kTerms, square) + r.low * (1 - square / 2));
}
double cos_of(const Pair& r) {
  static constexpr std::array<double, 8> kTerms = {1.0 / 24,
                                                   -1.0 / 720,
                                                   1.0 / 40320,
                                                   -1.0 / 3628800,
                                                   1.0 / 479001600,
                                                   -1.0 / 87178291200.0,
                                                   1.0 / 20922789888000.0,
                                                   -1.0 / 6402373705728000.0};
  const Pair square = product(r.high, r.high);
  const Pair first = ordered_sum(1, -square.high / 2);
  return first.high + (first.low + (square.high * square.high * polynomial(kTerms, square.high) -
                                    (square.low / 2 + r.high * r.low)));
}

double sin_or_cos(const Pair& rest, int quarters) {
  const double value = quarters % 2 == 0 ? sin_of(rest) : cos_of(rest);
  return quarters < 2 ? value : -value;
}

}  // namespace

double exp(double x) { return exp_of({x, 0}); }

double exp2(double x) {
  constexpr double kMost = 1024, kLeast = -1076;
  if (!(x < kMost)) return x > 0 ? kInfinity : x;
  if (x < kLeast) return 0;
  const double k = nearest(x);
  return scaled_exp(Pair{x - k, 0} * kLn2, static_cast<int>(k));
}

double log(double x) {
  double result;
  if (has_no_log(x, result)) return result;
  return log_of(x).high;
}

double log2(double x) {
  double result;
  if (has_no_log(x, result)) return result;
  const auto [exponent, fraction] = parts_of(x);
  return (Pair{static_cast<double>(exponent), 0} + log_of_fraction(fraction) * kOneByLn2).high;
}

double log1p(double x) {
  double result;
  if (has_no_log(1 + x, result)) return result;
  const Pair whole = sum(1, x);
  const Pair of_high = log_of(whole.high);
  return (sum(of_high.high, whole.low / whole.high) + Pair{0, of_high.low}).high;
}

double pow(double x, double y) {
  if (y == 0 || x == 1) return 1;
  if (!(x >= 0) || std::isnan(y)) return kNan;
  const bool grows = (x > 1) == (y > 0);
  constexpr double kHuge = 0x1p64;  // such a power of any number but 1 is out of range
  if (x == 0 || x == kInfinity || std::abs(y) > kHuge) return grows ? kInfinity : 0;
  const Pair exponent = log_of(x) * Pair{y, 0};
  return exp_of(exponent);
}

double sin(double x) {
  const QuarterTurns angle = quarter_turns(x);
  return sin_or_cos(angle.rest, angle.quarters);
}

double cos(double x) {
  const QuarterTurns angle = quarter_turns(x);
  return sin_or_cos(angle.rest, (angle.quarters + 1) % 4);
}

}  // namespace octavo::portable
