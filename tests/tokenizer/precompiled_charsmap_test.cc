// The seed of the fuzz target, which tools/make_tokenizer_seeds.py writes, read as `tokenizers` reads it.
#include "tokenizer/text/precompiled_charsmap.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "base/text.h"
#include "support/source_dir.h"

namespace octavo {
namespace {

using ::testing::HasSubstr;

std::string small_table() {
  std::ifstream file(test::source_dir() + "/fuzz/seeds/tokenizer_charsmap/small", std::ios::binary);
  std::ostringstream bytes;
  bytes << file.rdbuf();
  return bytes.str();
}

std::string applied(const PrecompiledCharsmap& map, std::string_view text) {
  std::string out;
  map.apply(text, out);
  return out;
}

std::string error_of(std::string_view bytes) {
  const auto map = PrecompiledCharsmap::parse(bytes);
  return map ? "no error" : map.error().message;
}

std::string little_endian(std::uint32_t number) {
  std::string bytes;
  for (int i = 0; i < 4; ++i) bytes += static_cast<char>(number >> (8 * i));
  return bytes;
}

/// A table of these units, and replacements.
std::string table(const std::vector<std::uint32_t>& units, std::string_view replacements) {
  std::string bytes = little_endian(static_cast<std::uint32_t>(units.size() * 4));
  for (const std::uint32_t unit : units) bytes += little_endian(unit);
  return bytes.append(replacements);
}

TEST(PrecompiledCharsmap, ReplacesTextsAsTokenizersDoes) {
  const auto map = PrecompiledCharsmap::parse(small_table());
  ASSERT_TRUE(map) << map.error().message;
  EXPECT_EQ(map->num_texts(), 10U);
  EXPECT_EQ(map->max_growth(), 2U);  // U+FDFA has 3 bytes, its replacement 6
  EXPECT_EQ(applied(*map, "xAy\tz\u3000"), "xay z ");
  EXPECT_EQ(applied(*map, "\u00E9e\u0301\uFB01\u2460\u200B\uFDFA"), "eefi1\u0635\u0644\u0649");
  EXPECT_EQ(applied(*map, "\r\n\u4E2D\u0928\u093F"), "\r \u4E2D\u0928\u093F") << "a character of 6 bytes is in parts";
}

TEST(PrecompiledCharsmap, AShortCharacterBecomesTheReplacementOfItsBegin) {
  const auto map = PrecompiledCharsmap::parse(small_table()).value();
  EXPECT_EQ(applied(map, "A\u0301"), "a") << "all of it";
  EXPECT_EQ(applied(map, "A\u0301\u0301\u0301"), "a\u0301\u0301\u0301") << "of more than 5 bytes each part by itself";
}

TEST(PrecompiledCharsmap, EveryCutAndEveryChangedByteIsRefusedOrGivesWholeCharacters) {
  const std::string whole = small_table();
  const auto check = [](std::string_view table) {
    const auto map = PrecompiledCharsmap::parse(table);
    constexpr std::string_view kText = "A\u00E9e\u0301\uFB01\uFDFA";
    if (!map) {
      EXPECT_THAT(map.error().message, HasSubstr("found"));
      return;
    }
    const std::string out = applied(*map, kText);
    EXPECT_TRUE(is_valid_utf8(out));
    EXPECT_LE(out.size(), kText.size() * map->max_growth());
  };
  for (std::size_t size = 0; size < whole.size(); ++size) check(std::string_view(whole).substr(0, size));
  for (std::size_t i = 0; i < whole.size(); ++i) {
    std::string changed = whole;
    changed[i] = static_cast<char>(changed[i] ^ 0x55);
    check(changed);
  }
}

TEST(PrecompiledCharsmap, WhatIsFoundIsNamed) {
  constexpr std::uint32_t kLeaf = 1U << 31U, kHasLeaf = 1U << 8U;
  EXPECT_THAT(error_of("abc"), HasSubstr("found 3 bytes, expected the size"));
  EXPECT_THAT(error_of(little_endian(12) + "1234"),
              HasSubstr("found a double array of 12 bytes, of which there are 4"));
  EXPECT_THAT(error_of(little_endian(0)), HasSubstr("found no unit"));
  EXPECT_THAT(error_of(std::string(PrecompiledCharsmap::kMaxBytes + 1, '\0')), HasSubstr("expected at most 2097152"));
  // The root's children are at 4 ^ byte; that of the byte 1 is the unit 5, whose children are at 8.
  const std::vector<std::uint32_t> units = {4U << 10U, 0, 0, 0, 0, (5U ^ 8U) << 10U | kHasLeaf | 1, 0, 0, kLeaf | 0};
  EXPECT_EQ(error_of(table(units, std::string("x\0", 2))), "no error");
  EXPECT_THAT(error_of(table(units, "x")), HasSubstr("found the replacement of '\\x01' at byte 0 of 1"));
  EXPECT_THAT(error_of(table(units, std::string("\xFF\0", 2))), HasSubstr("expected UTF-8"));
  EXPECT_THAT(error_of(table(units, std::string(300, 'x') + '\0')), HasSubstr("expected at most 256 bytes"));
  EXPECT_THAT(error_of(table({units.begin(), units.end() - 1}, "x")),
              HasSubstr("found the unit 8 of a double array of 8"));
}

TEST(PrecompiledCharsmap, TablesWithoutAnEndAreRefused) {
  // The unit 5 is a child of itself.
  EXPECT_THAT(error_of(table({4U << 10U, 0, 0, 0, 0, (5U ^ 4U) << 10U | 1}, "")),
              HasSubstr("found a text of more than 64 bytes"));
  // Each of the units 5 and 6 has both as children, so that there are 2^64 texts.
  EXPECT_THAT(error_of(table({4U << 10U, 0, 0, 0, 0, (5U ^ 4U) << 10U | 1, (6U ^ 4U) << 10U | 2}, "")),
              HasSubstr("expected at most"));
}

}  // namespace
}  // namespace octavo
