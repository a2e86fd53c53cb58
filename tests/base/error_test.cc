#include "base/error.h"

#include <gtest/gtest.h>

#include <memory>

namespace octavo {
namespace {

Result<std::unique_ptr<int>> make(int value) {
  if (value < 0) return fail("value {} is below {}", value, 0);
  return std::make_unique<int>(value);
}

Result<int> twice(int value) {
  OCTAVO_TRY(const auto made, make(value));
  OCTAVO_TRY_VOID(make(value));
  return *made * 2;
}

TEST(Error, TryGivesTheValueOrPassesTheErrorOn) {
  EXPECT_EQ(twice(4), 8);
  ASSERT_FALSE(twice(-1));
  EXPECT_EQ(twice(-1).error().message, "value -1 is below 0");
}

TEST(ErrorDeathTest, AFailedCheckSaysWhatAndWhere) {
  EXPECT_DEATH(OCTAVO_CHECK(1 + 1 == 3, "sum of {}", 2), "error_test.cc:[0-9]+: 1 \\+ 1 == 3 sum of 2");
}

}  // namespace
}  // namespace octavo
