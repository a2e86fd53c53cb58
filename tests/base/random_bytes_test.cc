#include "base/random_bytes.h"

#include <gtest/gtest.h>

#include <array>
#include <set>

namespace octavo {
namespace {

TEST(RandomBytes, FillsEveryByteOfASpan) {
  constexpr int kTimes = 64;  // a byte that is never written stays 0 each time
  std::array<unsigned char, 256> seen{};
  for (int i = 0; i < kTimes; ++i) {
    std::array<unsigned char, 256> bytes{};
    fill_random(bytes);
    for (std::size_t b = 0; b < bytes.size(); ++b) seen[b] |= bytes[b];
  }
  for (const unsigned char byte : seen) EXPECT_NE(byte, 0);
}

TEST(RandomBytes, SeedsDiffer) {
  std::set<std::uint64_t> seeds;
  for (int i = 0; i < 1000; ++i) seeds.insert(random_seed());
  EXPECT_EQ(seeds.size(), 1000U);
}

}  // namespace
}  // namespace octavo
