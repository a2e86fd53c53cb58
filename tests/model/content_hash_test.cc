#include "model/content_hash.h"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <string_view>

namespace octavo {
namespace {

std::string hex(std::string_view text) { return hex_of(hash_of(std::as_bytes(std::span(text)))); }

// A file keeps its hash from version to version, and so do the answers' fingerprints: these are XXH3's own test values.
TEST(ContentHash, IsXxh3Of128Bits) {
  EXPECT_EQ(hex(""), "99aa06d3014798d86001c324468d497f");
  EXPECT_EQ(hex("a"), "a96faf705af16834e6c632b61e964e1f");
  EXPECT_EQ(hex("abc"), "06b05ab6733a618578af5f94892f3950");
}

TEST(ContentHash, EveryByteAndTheLengthCount) {
  std::string bytes(1000, '\0');
  std::set<std::string> seen = {hex(bytes), hex(bytes.substr(1))};
  for (char& byte : bytes) {
    byte = 1;
    seen.insert(hex(bytes));
    byte = 0;
  }
  EXPECT_EQ(seen.size(), 1002U);
}

TEST(ContentHash, AHexadecimalHashKeepsItsZeros) {
  EXPECT_EQ(hex_of({.low = 0xab, .high = 1}), "000000000000000100000000000000ab");
}

}  // namespace
}  // namespace octavo
