// The fingerprint names all that decides an answer's bits.
#include "engine/load/fingerprint.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace octavo::test {
namespace {

TEST(Fingerprint, IsStableAndChangesWithEveryPart) {
  const std::string base = system_fingerprint(Bits::kNative, IsaLevel::kAvx2, "i16", "0123");
  EXPECT_THAT(base, testing::MatchesRegex("fp_[0-9a-f]{16}"));
  EXPECT_EQ(system_fingerprint(Bits::kNative, IsaLevel::kAvx2, "i16", "0123"), base);
  EXPECT_NE(system_fingerprint(Bits::kNative, IsaLevel::kScalar, "i16", "0123"), base);
  EXPECT_NE(system_fingerprint(Bits::kNative, IsaLevel::kAvx2, "f16", "0123"), base);
  EXPECT_NE(system_fingerprint(Bits::kNative, IsaLevel::kAvx2, "i16", "0124"), base);
  EXPECT_NE(system_fingerprint(Bits::kNative, IsaLevel::kAvx2, "i1", "60123"),
            base);  // parts do not run into each other
}

TEST(Fingerprint, OfALevelWithAnothersBitsIsTheOthers) {
  EXPECT_EQ(system_fingerprint(Bits::kNative, IsaLevel::kAmx, "i16", "0123"),
            system_fingerprint(Bits::kNative, IsaLevel::kAvx512Vnni, "i16", "0123"));
  EXPECT_NE(system_fingerprint(Bits::kNative, IsaLevel::kAmx, "i16", "0123"),
            system_fingerprint(Bits::kNative, IsaLevel::kAvxVnni, "i16", "0123"));
}

TEST(Fingerprint, OfALevelWithBitsOfItsOwnIsItsOwn) {
  for (const IsaLevel level : {IsaLevel::kAvx512Vnni, IsaLevel::kAmx})
    EXPECT_NE(system_fingerprint(Bits::kNative, IsaLevel::kAmxBf16, "i16", "0123"),
              system_fingerprint(Bits::kNative, level, "i16", "0123"));
  EXPECT_EQ(system_fingerprint(Bits::kPortable, IsaLevel::kAmxBf16, "i16", "0123"),
            system_fingerprint(Bits::kPortable, IsaLevel::kAmx, "i16", "0123"));
}

TEST(Fingerprint, OfPortableBitsIsThatOfAllMachines) {
  const std::string base = system_fingerprint(Bits::kPortable, IsaLevel::kAvx2, "i16", "0123");
  EXPECT_THAT(base, testing::MatchesRegex("fp_portable_[0-9a-f]{16}"));
  EXPECT_EQ(system_fingerprint(Bits::kPortable, IsaLevel::kNeon, "i16", "0123"), base);
  EXPECT_NE(system_fingerprint(Bits::kPortable, IsaLevel::kAvx2, "f16", "0123"), base);
  EXPECT_NE(system_fingerprint(Bits::kPortable, IsaLevel::kAvx2, "i16", "0124"), base);
}

}  // namespace
}  // namespace octavo::test
