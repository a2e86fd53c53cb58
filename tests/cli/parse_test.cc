#include "cli/terminal/parse.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <string>

namespace octavo::cli {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(Parse, ListsOfIntegersAreSeparatedByCommas) {
  EXPECT_EQ(parse_integers("7", 0, 9).value(), std::vector{7});
  EXPECT_EQ(parse_integers("0,9,4", 0, 9).value(), (std::vector{0, 9, 4}));
  for (const char* wrong : {"", ",", "1,", ",1", "1,,2", "1 2", "1, 2", "10", "-1", "x"})
    EXPECT_FALSE(parse_integers(wrong, 0, 9)) << wrong;
}

TEST(ParseSize, UnitsOf1024AndOf1000AndPlainBytes) {
  EXPECT_EQ(parse_size("4GiB"), std::uint64_t{4} << 30);
  EXPECT_EQ(parse_size("512MiB"), std::uint64_t{512} << 20);
  EXPECT_EQ(parse_size("1.5GiB"), std::uint64_t{3} << 29);
  EXPECT_EQ(parse_size("0.125KiB"), 128U);
  EXPECT_EQ(parse_size("2TiB"), std::uint64_t{2} << 40);
  EXPECT_EQ(parse_size("4GB"), 4'000'000'000U);
  EXPECT_EQ(parse_size("3kB"), 3000U);
  EXPECT_EQ(parse_size("1048576"), 1048576U);
  EXPECT_EQ(parse_size("7B"), 7U);
}

TEST(ParseSize, EverythingElseIsRefused) {
  for (const char* text : {"", "GiB", "4 GiB", "4gib", "4G", "-1", "+1", "1e9", "1.2.3GiB", "1.GiB", ".5GiB",
                           "1.2345GiB", "0x10", "nan", "4GiBs"})
    EXPECT_FALSE(parse_size(text)) << text;
  EXPECT_THAT(parse_size("8388608TiB").error().message, HasSubstr("less than 2^63"));
  EXPECT_FALSE(parse_size("18446744073709551615GiB"));
  EXPECT_FALSE(parse_size("99999999999999999999"));
}

TEST(ParseAge, ANumberAndAUnit) {
  EXPECT_EQ(parse_age("30d"), std::chrono::days(30));
  EXPECT_EQ(parse_age("12h"), std::chrono::hours(12));
  EXPECT_EQ(parse_age("90m"), std::chrono::minutes(90));
  EXPECT_EQ(parse_age("0s"), std::chrono::seconds(0));
  for (const char* text :
       {"", "d", "30", "30 d", "-1d", "+1d", "1.5h", "1000000000s", "3w", "1dd", "99999999999999999999s"})
    EXPECT_FALSE(parse_age(text)) << text;
  EXPECT_THAT(parse_age("x").error().message, HasSubstr("found 'x', expected a time such as 30d"));
}

RC_GTEST_PROP(ParseSize, NeverCrashesOnAnyText, (const std::string& text)) { static_cast<void>(parse_size(text)); }

TEST(FormatBytes, KeepsOneDigitAndMovesToTheNextUnitInTime) {
  EXPECT_EQ(format_bytes(0), "0 B");
  EXPECT_EQ(format_bytes(1023), "1023 B");
  EXPECT_EQ(format_bytes(1024), "1.0 KiB");
  EXPECT_EQ(format_bytes(98362432), "93.8 MiB");
  EXPECT_EQ(format_bytes((std::uint64_t{1} << 30) - 1), "1.0 GiB");
}

TEST(ParseInteger, OnlyWholeDecimalTextInRange) {
  EXPECT_EQ(parse_integer("42", 0, 100), 42);
  EXPECT_EQ(parse_integer("010", 0, 100), 10);
  for (const char* text : {"", "101", "-1", "4x", " 4", "0x4", "99999999999999999999", "4.0"})
    EXPECT_FALSE(parse_integer(text, 0, 100)) << text;
  EXPECT_THAT(parse_integer("x", 1, 8).error().message, HasSubstr("found 'x', expected an integer from 1 to 8"));
  EXPECT_EQ(parse_u64("18446744073709551615"), std::numeric_limits<std::uint64_t>::max());
  EXPECT_FALSE(parse_u64("18446744073709551616"));
  EXPECT_FALSE(parse_u64("-1"));
}

TEST(ParseReal, OnlyFiniteNumbersInRange) {
  EXPECT_EQ(parse_real("0.25", 0, 1), 0.25F);
  for (const char* text : {"", "nan", "inf", "1.01", "-0.1", "1,0", "0.5x"})
    EXPECT_FALSE(parse_real(text, 0, 1)) << text;
}

TEST(ParseIds, CommasAndSpacesSeparate) {
  EXPECT_THAT(*parse_ids("1,2,3"), ElementsAre(1, 2, 3));
  EXPECT_THAT(*parse_ids(" 1 2, 3\n"), ElementsAre(1, 2, 3));
  for (const char* text : {"", " , ", "1,x", "-1", "1;2", "2147483648"}) EXPECT_FALSE(parse_ids(text)) << text;
}

TEST(Text, EscapedShowsWhatATerminalWouldObey) {
  EXPECT_EQ(escaped("a\n\t\\\x1b[31m\x7f"), "a\\n\\t\\\\\\x1b[31m\\x7f");
  EXPECT_EQ(escaped("\u00FC \xC2\x9B \xFF"), "\u00FC \\xc2\\x9b \\xff");
}

}  // namespace
}  // namespace octavo::cli
