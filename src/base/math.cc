#include "base/math.h"

#include <cstdint>

#include "base/double_functions.h"

namespace octavo::portable {
namespace {

/// An angle as a number of quarter turns and a rest, |rest| <= pi / 4.
struct QuarterTurns {
  DoublePair rest;
  int quarters;  // 0 to 3
};
QuarterTurns quarter_turns(double x) {
  constexpr double kQuartersByRadian = 0x1.45f306dc9c883p-1;
  // Parts of pi / 2 with 22 digits each, whose products with numbers up to 2^31 are exact.
  static constexpr double kQuarter[] = {0x1.921fbp+0, 0x1.5110bp-22, 0x1.1846980p-44, 0x1.3198ap-69,
                                        0x1.701b839a25205p-92};
  constexpr double kCountable = 0x1p50;
  const double turns = x * kQuartersByRadian;
  if (!(std::abs(turns) < kCountable)) return {{std::isfinite(x) ? 0 : kNan, 0}, 0};
  const double count = nearest(turns);
  DoublePair rest = {x, 0};
  for (const double part : kQuarter) rest = rest + DoublePair{-count * part, 0};
  return {rest, static_cast<int>(static_cast<std::int64_t>(count) & 3)};
}

double sin_of(const DoublePair& r) {
  static constexpr double kTerms[] = {-1.0 / 6,
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
double cos_of(const DoublePair& r) {
  static constexpr double kTerms[] = {1.0 / 24,
                                      -1.0 / 720,
                                      1.0 / 40320,
                                      -1.0 / 3628800,
                                      1.0 / 479001600,
                                      -1.0 / 87178291200.0,
                                      1.0 / 20922789888000.0,
                                      -1.0 / 6402373705728000.0};
  const DoublePair square = exact_product(r.high, r.high);
  const DoublePair first = ordered_sum(1, -square.high / 2);
  return first.high + (first.low + (square.high * square.high * polynomial(kTerms, square.high) -
                                    (square.low / 2 + r.high * r.low)));
}

double sin_or_cos(const DoublePair& rest, int quarters) {
  const double value = quarters % 2 == 0 ? sin_of(rest) : cos_of(rest);
  return quarters < 2 ? value : -value;
}

}  // namespace

double exp(double x) { return exp_of({x, 0}); }

double exp2(double x) {
  constexpr DoublePair kLn2 = {0x1.62e42fefa39efp-1, 0x1.abc9e3b39803fp-56};
  constexpr double kMost = 1024, kLeast = -1076;
  if (!(x < kMost)) return x > 0 ? kInfinity : x;
  if (x < kLeast) return 0;
  const double k = nearest(x);
  return scaled_exp(DoublePair{x - k, 0} * kLn2, static_cast<int>(k));
}

double log(double x) {
  double result;
  return has_no_log(x, result) ? result : log_of(x).high;
}

double log2(double x) {
  double result;
  if (has_no_log(x, result)) return result;
  const auto [exponent, fraction] = parts_of(x);
  const DoublePair by_ln2 = {kByLn2, 0x1.777d0ffda0d24p-56};
  return (DoublePair{static_cast<double>(exponent), 0} + log_of_fraction(fraction) * by_ln2).high;
}

double log1p(double x) { return log1p_of(x); }

double pow(double x, double y) {
  if (y == 0 || x == 1) return 1;
  if (!(x >= 0) || std::isnan(y)) return kNan;
  const bool grows = (x > 1) == (y > 0);
  constexpr double kHuge = 0x1p64;  // beyond it the power of any number but 1 is out of range
  if (x == 0 || x == kInfinity || std::abs(y) > kHuge) return grows ? kInfinity : 0;
  return exp_of(log_of(x) * DoublePair{y, 0});
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
