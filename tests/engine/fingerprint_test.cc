// The fingerprint names all that decides an answer's bits.
#include "engine/load/fingerprint.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace octavo::test {
namespace {

TEST(Fingerprint, IsStableAndChangesWithEveryPart) {
  const std::string base = system_fingerprint(Bits::kNative, "avx2", "i16", "0123");
  EXPECT_THAT(base, testing::MatchesRegex("fp_[0-9a-f]{16}"));
  EXPECT_EQ(system_fingerprint(Bits::kNative, "avx2", "i16", "0123"), base);
  EXPECT_NE(system_fingerprint(Bits::kNative, "scalar", "i16", "0123"), base);
  EXPECT_NE(system_fingerprint(Bits::kNative, "avx2", "f16", "0123"), base);
  EXPECT_NE(system_fingerprint(Bits::kNative, "avx2", "i16", "0124"), base);
  EXPECT_NE(system_fingerprint(Bits::kNative, "avx2i", "16", "0123"), base);  // parts do not run into each other
}

TEST(Fingerprint, OfPortableBitsIsThatOfAllMachines) {
  const std::string base = system_fingerprint(Bits::kPortable, "avx2", "i16", "0123");
  EXPECT_THAT(base, testing::MatchesRegex("fp_portable_[0-9a-f]{16}"));
  EXPECT_EQ(system_fingerprint(Bits::kPortable, "neon", "i16", "0123"), base);
  EXPECT_NE(system_fingerprint(Bits::kPortable, "avx2", "f16", "0123"), base);
  EXPECT_NE(system_fingerprint(Bits::kPortable, "avx2", "i16", "0124"), base);
}

}  // namespace
}  // namespace octavo::test
