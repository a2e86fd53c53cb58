#include "sampler/philox.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace octavo {
namespace {

using ::testing::ElementsAre;

// Known answers published with the authors' own library (Random123, kat_vectors).
TEST(Philox, GivesTheAuthorsKnownAnswers) {
  EXPECT_THAT(philox4x32({0, 0, 0, 0}, {0, 0}), ElementsAre(0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8));
  EXPECT_THAT(philox4x32({0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}, {0xffffffff, 0xffffffff}),
              ElementsAre(0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd));
  EXPECT_THAT(philox4x32({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
              ElementsAre(0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1));
}

TEST(Philox, UniformStaysBelowOneAndDependsOnEveryPartOfTheKey) {
  const DrawKey key{.seed = 7, .choice = 1, .position = 2, .draw = 3};
  const double value = uniform(key);
  EXPECT_GE(value, 0);
  EXPECT_LT(value, 1);
  EXPECT_EQ(value, uniform(key));
  DrawKey other = key;
  other.seed = 7 + (std::uint64_t{1} << 32);
  EXPECT_NE(value, uniform(other));
  other = key;
  other.choice = 0;
  EXPECT_NE(value, uniform(other));
  other = key;
  other.position = 3;
  EXPECT_NE(value, uniform(other));
  other = key;
  other.draw = 0;
  EXPECT_NE(value, uniform(other));
}

TEST(Philox, UniformFillsTheIntervalEvenly) {
  constexpr int kDraws = 100'000, kBins = 100;
  int counts[kBins] = {};
  for (std::uint32_t i = 0; i < kDraws; ++i) ++counts[static_cast<int>(uniform({.seed = 42, .position = i}) * kBins)];
  double chi_squared = 0;
  for (const int count : counts) chi_squared += (count - 1000.0) * (count - 1000.0) / 1000.0;
  EXPECT_LT(chi_squared, 148.2);  // 99 degrees of freedom: exceeded once in a thousand; the seed is fixed
}

}  // namespace
}  // namespace octavo
