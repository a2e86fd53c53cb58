#include "constraint/schema/decimal.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <string>

namespace octavo {
namespace {

/// units · 10^-places, with zeros that change nothing.
std::string written(std::int64_t units, int places) {
  std::string digits = std::to_string(units < 0 ? -units : units);
  if (digits.size() <= static_cast<std::size_t>(places))
    digits.insert(0, static_cast<std::size_t>(places) + 1 - digits.size(), '0');
  if (places > 0) digits.insert(digits.size() - static_cast<std::size_t>(places), ".");
  return (units < 0 ? "-" : "") + digits;
}

RC_GTEST_PROP(Decimal, IsComparedAndDividedExactly, ()) {
  const auto a = *rc::gen::inRange<std::int64_t>(-100000, 100000), b = *rc::gen::inRange<std::int64_t>(-100000, 100000);
  const int places = *rc::gen::inRange(0, 6);
  const Decimal left = Decimal::parse(written(a, places)).value(), right = Decimal::parse(written(b, places)).value();
  RC_ASSERT((left <=> right) == (a <=> b));
  RC_ASSERT((left == right) == (a == b));
  RC_ASSERT(left.negated() == Decimal::parse(written(-a, places)).value());
  RC_ASSERT(left == Decimal::parse(std::to_string(a) + "e-" + std::to_string(places)).value());
  if (b != 0) RC_ASSERT(left.is_multiple_of(right) == (a % b == 0));
}

TEST(Decimal, HasItsDigitsOnBothSidesOfThePoint) {
  const Decimal number = Decimal::parse("-120.0350e1").value();
  EXPECT_TRUE(number.is_negative());
  EXPECT_FALSE(number.is_integer());
  EXPECT_EQ(number.integer_digits(), "1200");
  EXPECT_EQ(number.fraction_digits(), "35");
  EXPECT_EQ(Decimal::parse("5e3").value().integer_digits(), "5000");
  EXPECT_EQ(Decimal::parse("0.00").value(), Decimal());
  EXPECT_TRUE(Decimal::parse("1.0").value().is_integer());
}

TEST(Decimal, OfOtherTextsAndOfTooManyDigitsHasNoValue) {
  for (const char* text : {"", "-", "a", "1.", ".5", "1e", "1e5x", "1e999999999999999999999", "1e401", "1e-500"})
    EXPECT_FALSE(Decimal::parse(text).has_value()) << text;
  EXPECT_TRUE(Decimal::parse("1e308").has_value());
}

}  // namespace
}  // namespace octavo
