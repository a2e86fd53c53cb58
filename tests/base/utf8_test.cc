#include "base/utf8.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "base/text.h"

namespace octavo::test {
namespace {

TEST(RepairUtf8, BytesOutsideCharactersBecomeReplacements) {
  EXPECT_EQ(repair_utf8("a\xFFz").text, "a\uFFFDz");
  EXPECT_EQ(repair_utf8("\xE2\x82").text, "\uFFFD\uFFFD");
  EXPECT_EQ(repair_utf8("\xF8\x88\x80\x80\x80").text, "\uFFFD\uFFFD\uFFFD\uFFFD\uFFFD");
}

TEST(RepairUtf8, OverlongFormsAreWrittenShort) {
  EXPECT_EQ(repair_utf8("\xC1\x81").text, "A");
  EXPECT_EQ(repair_utf8("\xE0\x81\x81").text, "A");
  EXPECT_EQ(repair_utf8("\xF0\x80\x81\x81").text, "A");
  EXPECT_EQ(repair_utf8("\xC0\x80").text, std::string(1, '\0'));
}

TEST(RepairUtf8, SurrogatesAreKeptAndReported) {
  EXPECT_EQ(repair_utf8("\xED\xA0\x80").text, "\xED\xA0\x80");
  EXPECT_TRUE(repair_utf8("\xED\xA0\x80").has_surrogates);
  EXPECT_FALSE(repair_utf8("\xED\x9F\xBF").has_surrogates);
}

TEST(RepairUtf8, CodePointsBeyondUnicodeAreBrokenBytes) {
  EXPECT_EQ(repair_utf8("\xF4\x90\x80\x80").text, "\uFFFD\uFFFD\uFFFD\uFFFD");
  EXPECT_EQ(repair_utf8("\xF7\xBF\xBF\xBF").text, "\uFFFD\uFFFD\uFFFD\uFFFD");
  EXPECT_EQ(repair_utf8("\xF4\x8F\xBF\xBF").text, "\xF4\x8F\xBF\xBF");
}

RC_GTEST_PROP(RepairUtf8Property, GivesCharactersAndLeavesThemAlone, (const std::string& bytes)) {
  const RepairedText once = repair_utf8(bytes);
  RC_ASSERT(once.has_surrogates || is_valid_utf8(once.text));
  RC_ASSERT(repair_utf8(once.text).text == once.text);
  if (is_valid_utf8(bytes)) RC_ASSERT(once.text == bytes);
}

TEST(Utf8Step, EveryCodePointIsOneCharacter) {
  for (std::uint32_t code_point = 0; code_point <= 0x10FFFF; ++code_point) {
    if (code_point == 0xD800) code_point = 0xE000;
    std::string text;
    append_utf8(text, code_point);
    const Utf8Step step = next_utf8_step(text);
    ASSERT_EQ(step.kind, Utf8Step::Kind::kCharacter) << code_point;
    ASSERT_EQ(step.length, text.size()) << code_point;
    ASSERT_EQ(utf8_announced_length(text[0]), text.size()) << code_point;
    if (text.size() == 1) continue;
    const Utf8Step partial = next_utf8_step(std::string_view(text).substr(0, text.size() - 1));
    ASSERT_EQ(partial.kind, Utf8Step::Kind::kIncomplete) << code_point;
  }
}

TEST(Utf8, BytesThatAreNoUtf8BecomeReplacementCharacters) {
  EXPECT_EQ(to_valid_utf8("a\xFF\xC3\xA9\xE2\x82"), "a\xEF\xBF\xBD\xC3\xA9\xEF\xBF\xBD");
  EXPECT_EQ(to_valid_utf8("a\xFFz\xE2\x82"), "a\uFFFDz\uFFFD");
  EXPECT_EQ(to_valid_utf8("Gr\u00FC\u00DFe"), "Gr\u00FC\u00DFe");
}

}  // namespace
}  // namespace octavo::test
