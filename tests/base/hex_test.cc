#include "base/hex.h"

#include <gtest/gtest.h>

#include <array>

namespace octavo {
namespace {

TEST(Hex, ABytesDigitsAreSmallAndTwo) {
  const std::array bytes = {std::byte{0x00}, std::byte{0x0A}, std::byte{0xFF}};
  EXPECT_EQ(hex_digits(bytes), "000aff");
  EXPECT_EQ(hex_digits({}), "");
}

TEST(Hex, EscapedBytesAreDecodedAndOthersStayAsTheyAre) {
  EXPECT_EQ(percent_decoded("a%20b%C3%bc"), "a b\xC3\xBC");
  for (const char* text : {"", "100%", "%", "%2", "%zz", "%2g", "%%"}) EXPECT_EQ(percent_decoded(text), text);
  EXPECT_EQ(percent_decoded("%%41"), "%A");
}

}  // namespace
}  // namespace octavo
