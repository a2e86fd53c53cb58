// Numbers within bounds against arithmetic on hundredths.
#include "constraint/schema/schema_number.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "constraint/recogniser.h"

namespace octavo {
namespace {

std::string hundredths(int units, bool is_short) {
  const int size = units < 0 ? -units : units;
  std::string text = (units < 0 ? "-" : "") + std::to_string(size / 100);
  if (is_short && size % 100 == 0) return text;
  text += size % 100 < 10 ? ".0" : ".";
  return text + std::to_string(size % 100);
}

Decimal decimal(int units) { return Decimal::parse(hundredths(units, true)).value(); }

RC_GTEST_PROP(SchemaNumber, TakesExactlyTheNumbersInItsRange, ()) {
  const auto units = [](int most) { return *rc::gen::inRange(-most, most); };
  NumberRange range{.kind = *rc::gen::element(NumberKind::kAny, NumberKind::kInteger, NumberKind::kFraction)};
  const bool has_minimum = *rc::gen::arbitrary<bool>(), has_maximum = *rc::gen::arbitrary<bool>();
  const bool is_exclusive = *rc::gen::arbitrary<bool>(), has_other = *rc::gen::arbitrary<bool>();
  const int minimum = units(2000), maximum = units(20000), other = units(300);
  const int divisor = *rc::gen::element(0, 0, 3, 25, 100, 700);
  if (has_minimum) range.minimum = {.value = decimal(minimum), .is_exclusive = is_exclusive};
  if (has_maximum) range.maximum = {.value = decimal(maximum), .is_exclusive = is_exclusive};
  if (has_other) range.other_values.push_back(decimal(other));
  if (divisor > 0) range.divisors.push_back(decimal(divisor));
  Grammar grammar;
  grammar.set_root(write_number(range, grammar).value());
  for (int i = 0; i < 20; ++i) {
    const int x = i == 0 ? minimum : i == 1 ? maximum : i == 2 ? other : units(*rc::gen::element(300, 2500, 25000));
    const bool is_short = *rc::gen::arbitrary<bool>();
    bool is_in = true;
    if (has_minimum) is_in = is_in && (is_exclusive ? x > minimum : x >= minimum);
    if (has_maximum) is_in = is_in && (is_exclusive ? x < maximum : x <= maximum);
    if (has_other) is_in = is_in && x != other;
    if (divisor > 0) is_in = is_in && x % divisor == 0;
    if (range.kind == NumberKind::kInteger) is_in = is_in && x % 100 == 0 && is_short;
    if (range.kind == NumberKind::kFraction) is_in = is_in && x % 100 != 0;
    const std::string text = hundredths(x, is_short);
    RC_LOG(text);
    RC_ASSERT(test::Recogniser(grammar, text).is_whole() == is_in);
  }
}

TEST(SchemaNumber, TakesNoOtherForms) {
  Grammar grammar;
  grammar.set_root(write_number({.minimum = NumberBound{.value = Decimal::parse("-5").value()}}, grammar).value());
  for (const char* text : {"", "-", "-0", "-0.0", "01", "1.", ".5", "1e1", "+1", "1.5.5", "--1"})
    EXPECT_FALSE(test::Recogniser(grammar, text).is_whole()) << text;
  for (const char* text : {"0", "0.0", "-0.5", "10.50"})
    EXPECT_TRUE(test::Recogniser(grammar, text).is_whole()) << text;
}

TEST(SchemaNumber, HasNoValueWhereItTakesTooManyStates) {
  Grammar grammar;
  EXPECT_FALSE(write_number({.divisors = {Decimal::parse("99991").value()}}, grammar).has_value());
  EXPECT_TRUE(write_number({.minimum = NumberBound{.value = Decimal::parse("1e300").value()}}, grammar).has_value());
}

}  // namespace
}  // namespace octavo
