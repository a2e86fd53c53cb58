#include "tensor/codebooks.h"

#include <gtest/gtest.h>

#include <span>

namespace octavo {
namespace {

/// FNV-1a, 64 bits, a word at a time.
std::uint64_t hash_of(std::span<const std::uint32_t> words) {
  std::uint64_t hash = 0xCBF29CE484222325;
  for (const std::uint32_t word : words) hash = (hash ^ word) * 0x100000001B3;
  return hash;
}

// Hashes of the grids of the Python package gguf, by tools/make_codebooks.py.
TEST(Codebooks, EveryGroupIsThatOfThePythonPackage) {
  EXPECT_EQ(hash_of(kIq1Groups.words), 0xB62D43A62F32B071U);
  EXPECT_EQ(hash_of(kIq2XxsGroups.words), 0x5E39631281FB57B2U);
  EXPECT_EQ(hash_of(kIq2XsGroups.words), 0xA4E7C610FA408E6AU);
  EXPECT_EQ(hash_of(kIq2SGroups.words), 0x3AFA528E951ABD0EU);
  EXPECT_EQ(hash_of(kIq3XxsGroups.words), 0x732C45F31E871289U);
  EXPECT_EQ(hash_of(kIq3SGroups.words), 0x759F69C1F797053CU);
}

TEST(Codebooks, CodesLieByByteAndNibble) {
  const std::uint32_t group = 0x01261402;
  const int codes[] = {2, 4, 6, 1, 0, 1, 2, 0};
  for (int i = 0; i < 8; ++i) EXPECT_EQ(code_of(group, i), codes[i]) << i;
}

}  // namespace
}  // namespace octavo
