// Conversions of 16-bit floats, proved against their definition over all 65536 values.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include "tensor/dequantize.h"

namespace octavo {
namespace {

/// The value of a finite half by its definition.
double half_value(std::uint16_t bits) {
  const int exponent = bits >> 10 & 31;
  const int mantissa = bits & 1023;
  const double magnitude = exponent == 0 ? std::ldexp(mantissa, -24) : std::ldexp(1024 + mantissa, exponent - 25);
  return (bits & 0x8000) != 0 ? -magnitude : magnitude;
}

bool is_finite_half(std::uint16_t bits) { return (bits & 0x7C00) != 0x7C00; }

TEST(Half, EveryFiniteHalfHasItsExactValueAndComesBack) {
  for (std::uint32_t i = 0; i < 0x10000; ++i) {
    const auto bits = static_cast<std::uint16_t>(i);
    if (!is_finite_half(bits)) continue;
    const float value = f16_to_f32(bits);
    ASSERT_EQ(static_cast<double>(value), half_value(bits)) << bits;
    ASSERT_EQ(std::signbit(value), (bits & 0x8000) != 0) << bits;
    ASSERT_EQ(f32_to_f16(value), bits);
  }
}

TEST(Half, InfinitiesAndNaNsStayWhatTheyAre) {
  constexpr float kInf = std::numeric_limits<float>::infinity();
  EXPECT_EQ(f16_to_f32(0x7C00), kInf);
  EXPECT_EQ(f16_to_f32(0xFC00), -kInf);
  EXPECT_EQ(f32_to_f16(kInf), 0x7C00);
  EXPECT_EQ(f32_to_f16(-kInf), 0xFC00);
  for (const std::uint16_t nan : std::initializer_list<std::uint16_t>{0x7C01, 0x7E00, 0x7FFF, 0xFC01, 0xFFFF}) {
    EXPECT_TRUE(std::isnan(f16_to_f32(nan))) << nan;
    EXPECT_TRUE(std::isnan(f16_to_f32(f32_to_f16(f16_to_f32(nan))))) << nan;
  }
  EXPECT_TRUE(std::isnan(f16_to_f32(f32_to_f16(std::bit_cast<float>(0x7F800001U)))));
}

// Between each two neighbouring halfs: below the middle rounds down, above rounds up, the middle itself to the even
// one.
TEST(Half, RoundsToTheNearestAndTiesToEven) {
  for (std::uint16_t low = 0; low < 0x7BFF; ++low) {
    const auto high = static_cast<std::uint16_t>(low + 1);
    const auto middle = static_cast<float>((half_value(low) + half_value(high)) / 2);
    const std::uint16_t even = low % 2 == 0 ? low : high;
    ASSERT_EQ(f32_to_f16(middle), even) << low;
    ASSERT_EQ(f32_to_f16(std::nextafter(middle, 0.0F)), low) << low;
    ASSERT_EQ(f32_to_f16(std::nextafter(middle, 1e9F)), high) << low;
    ASSERT_EQ(f32_to_f16(-middle), even | 0x8000) << low;
  }
}

TEST(Half, OverflowGivesInfinity) {
  EXPECT_EQ(f32_to_f16(65504.0F), 0x7BFF);
  EXPECT_EQ(f32_to_f16(std::nextafter(65520.0F, 0.0F)), 0x7BFF);
  EXPECT_EQ(f32_to_f16(65520.0F), 0x7C00);
  EXPECT_EQ(f32_to_f16(std::numeric_limits<float>::max()), 0x7C00);
  EXPECT_EQ(f32_to_f16(std::numeric_limits<float>::denorm_min()), 0);
}

TEST(BFloat16, EveryValueComesBack) {
  for (std::uint32_t i = 0; i < 0x10000; ++i) {
    const auto bits = static_cast<std::uint16_t>(i);
    const float value = bf16_to_f32(bits);
    if (std::isnan(value)) {
      ASSERT_TRUE(std::isnan(bf16_to_f32(f32_to_bf16(value)))) << bits;
    } else {
      ASSERT_EQ(f32_to_bf16(value), bits);
    }
  }
}

RC_GTEST_PROP(BFloat16, RoundsToTheNearestAndTiesToEven, (std::uint32_t bits)) {
  const auto value = std::bit_cast<float>(bits & 0x7F7FFFFF);  // finite, not negative
  const auto low = static_cast<std::uint16_t>((bits & 0x7F7FFFFF) >> 16);
  const std::uint32_t rest = bits & 0xFFFF;
  const bool up = rest > 0x8000 || (rest == 0x8000 && low % 2 == 1);
  RC_ASSERT(f32_to_bf16(value) == low + (up ? 1 : 0));
}

TEST(BFloat16, ANaNWhosePayloadIsLowStaysANaN) {
  EXPECT_TRUE(std::isnan(bf16_to_f32(f32_to_bf16(std::bit_cast<float>(0x7F800001U)))));
}

}  // namespace
}  // namespace octavo
