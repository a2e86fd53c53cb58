// Halves of characters in JSON.
#include "json/lone_surrogates.h"

#include <gtest/gtest.h>

#include "json/json_text.h"

namespace octavo::test {
namespace {

/// As it is, where nothing is replaced.
std::string mended(const std::string& json) { return without_lone_surrogates(json).value_or(json); }

TEST(LoneSurrogates, AHalfThatStandsAloneIsReplaced) {
  EXPECT_EQ(mended(R"("\ud83d")"), R"("\ufffd")");
  EXPECT_EQ(mended(R"("\uDE00")"), R"("\ufffd")");
  EXPECT_EQ(mended(R"("a\ud83db")"), R"("a\ufffdb")");
  EXPECT_EQ(mended(R"("\ude00\ud83d")"), R"("\ufffd\ufffd")") << "in the wrong order";
  EXPECT_EQ(mended(R"("\ud83d\ud83d\ude00")"), R"("\ufffd\ud83d\ude00")");
  EXPECT_EQ(mended(R"("\ud83d\n\ude00")"), R"("\ufffd\n\ufffd")");
  EXPECT_EQ(mended("\"\xED\xA0\xBD\xED\xB8\x80\""), "\"\xEF\xBF\xBD\xEF\xBF\xBD\"");
}

TEST(LoneSurrogates, NothingElseIsTouched) {
  for (const char* json : {R"("\ud83d\ude00")", R"("\\ud83d")", R"("\\\\ud83d")", R"("\u00e9\n\"\\")", R"("\ud8")",
                           R"("\u")", "\"\\", "\"\xED\x9F\xBF\"", "\"\xED\"", "\"\xED", "{}", ""})
    EXPECT_FALSE(without_lone_surrogates(json)) << json;
  EXPECT_EQ(mended(R"("\\\ud83d")"), R"("\\\ufffd")") << "behind a backslash that is one";
}

TEST(LoneSurrogates, ArgumentsOfACallMayHaveThem) {
  std::size_t values_left = 10;
  const auto read = read_json_object(R"({"a": "\ud83d"})", values_left);
  ASSERT_TRUE(read.has_value()) << read.error().message;
  EXPECT_EQ(std::get<std::string>(std::get<TemplateDict>(*read).front().second), "\uFFFD");
}

}  // namespace
}  // namespace octavo::test
