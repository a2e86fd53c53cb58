#include "base/text.h"

#include <gtest/gtest.h>

#include <string>

#include "base/displayable.h"

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

TEST(Displayable, WhatSteersReordersOrHidesIsNot) {
  for (const char* text : {"\x1b",   "\n",     "\x7f",       "\u0080",     "\u009f", "\u061c",      "\u200b", "\u200e",
                           "\u200f", "\u2028", "\u202a",     "\u202e",     "\u2060", "\u2066",      "\u2069", "\u206f",
                           "\ufeff", "\ufff9", "\U000e0001", "\U000e007f", "\x80",   "\xed\xa0\x80"})
    EXPECT_FALSE(next_display_step(text).is_displayable) << quote(text);
  for (const char* text : {" ", "~", "\u00a0", "\u200c", "\u200d", "\u2027", "\u202f", "\u205f", "\u2070", "\ufe0f",
                           "\ufffd", "\U0001f600"})
    EXPECT_TRUE(next_display_step(text).is_displayable) << quote(text);
}

TEST(LowerCase, IsAsciisAlone) { EXPECT_EQ(lower_case("Q4_K-Z@[\xC3\x84"), "q4_k-z@[\xC3\x84"); }

TEST(Printable, EscapesControlCharactersAndBoundsTheName) {
  EXPECT_EQ(printable("SmolLM2 \xC3\xA9"), "SmolLM2 \xC3\xA9");
  EXPECT_EQ(printable("a\x1b[2J\xFF"), "a\\x1B[2J\\xFF");
  EXPECT_EQ(printable("gpj.\u202eexe"), "gpj.\\xE2\\x80\\xAEexe");
  for (const std::string& piece : {std::string("k"), std::string("\n"), std::string("\xE2\x82\xAC")}) {
    std::string name;
    for (int i = 0; i < 1'000'000; ++i) name += piece;
    const std::string shown = printable(name);
    EXPECT_LE(shown.size(), kMaxShownBytes);
    EXPECT_GE(shown.size(), kMaxShownBytes - 16);
    EXPECT_TRUE(is_valid_utf8(shown));
    EXPECT_TRUE(shown.ends_with("..."));
  }
}

}  // namespace
}  // namespace octavo
