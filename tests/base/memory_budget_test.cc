#include "base/memory_budget.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace octavo {
namespace {

using ::testing::HasSubstr;

TEST(MemoryBudget, GivesWhatIsLeftAndTakesItBack) {
  MemoryBudget budget(100);
  {
    Result<MemoryBudget::Lease> first = budget.take(70);
    ASSERT_TRUE(first);
    const Result<MemoryBudget::Lease> second = budget.take_rest();
    ASSERT_TRUE(second);
    EXPECT_EQ(second->bytes(), 30U);
    EXPECT_EQ(budget.taken(), 100U);
    first->shrink(20);
    EXPECT_EQ(first->bytes(), 20U);
    EXPECT_EQ(budget.taken(), 50U);
    first->shrink(60);
    EXPECT_EQ(first->bytes(), 20U) << "it does not grow";
  }
  EXPECT_EQ(budget.taken(), 0U);
}

TEST(MemoryBudget, TooLittleIsAnErrorWithTheNumbers) {
  MemoryBudget budget(100);
  const MemoryBudget::Lease lease = budget.take(99).value();
  const auto more = budget.take(2);
  ASSERT_FALSE(more);
  EXPECT_THAT(more.error().message, HasSubstr("found 1 bytes left of the 100 that engines share, expected at least 2"));
  const MemoryBudget::Lease last = budget.take_rest().value();
  const auto rest = budget.take_rest();
  ASSERT_FALSE(rest);
  EXPECT_THAT(rest.error().message, HasSubstr("found 0 bytes left of the 100"));
  EXPECT_EQ(budget.taken(), 100U);
}

TEST(MemoryBudget, WithoutALimitItCounts) {
  MemoryBudget budget(0);
  const MemoryBudget::Lease lease = budget.take(~std::uint64_t{0} >> 1).value();
  EXPECT_EQ(budget.taken(), lease.bytes());
}

TEST(MemoryBudget, ALeaseMoves) {
  MemoryBudget budget(100);
  MemoryBudget::Lease lease = budget.take(10).value();
  lease = budget.take(5).value();
  EXPECT_EQ(budget.taken(), 5U);
  const MemoryBudget::Lease moved = std::move(lease);
  EXPECT_EQ(moved.bytes(), 5U);
  EXPECT_EQ(budget.taken(), 5U);
}

}  // namespace
}  // namespace octavo
