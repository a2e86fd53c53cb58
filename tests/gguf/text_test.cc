#include "gguf/text.h"

#include <gtest/gtest.h>

#include <string>

namespace octavo {
namespace {

TEST(Utf8, WellFormedTextIsValid) {
  for (const char* text : {"", "plain", "\x7F", "\xC2\x80", "\xDF\xBF", "\xE0\xA0\x80", "\xED\x9F\xBF", "\xEE\x80\x80",
                           "\xEF\xBF\xBF", "\xF0\x90\x80\x80", "\xF4\x8F\xBF\xBF"})
    EXPECT_TRUE(is_valid_utf8(text)) << quote(text);
}

TEST(Utf8, OverlongSurrogateLoneAndCutSequencesAreNot) {
  for (const char* text :
       {"\x80", "\xC0\xAF", "\xC1\xBF", "\xC2", "\xE0\x9F\xBF", "\xED\xA0\x80", "\xE2\x82", "\xF0\x8F\xBF\xBF",
        "\xF4\x90\x80\x80", "\xF5\x80\x80\x80", "\xFF", "ok\xC2ok", "\xF0\x9F\x98"})
    EXPECT_FALSE(is_valid_utf8(text)) << quote(text);
}

TEST(Quoted, EscapesWhatATerminalWouldObeyAndCutsLongText) {
  EXPECT_EQ(quote("plain key"), "'plain key'");
  EXPECT_EQ(quote("a\n\x1b\x7f'\\"), "'a\\x0a\\x1b\\x7f\\'\\\\'");
  EXPECT_EQ(quote(std::string(81, 'k')), "'" + std::string(80, 'k') + "...'");
}

}  // namespace
}  // namespace octavo
