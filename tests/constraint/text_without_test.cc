#include "constraint/grammar/text_without.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "constraint/vocabulary.h"

namespace octavo {
namespace {

using ::testing::HasSubstr;

/// All texts of up to so many of the characters, shortest first.
std::vector<std::string> all_texts(std::string_view characters, std::size_t most) {
  std::vector<std::string> texts = {""};
  for (std::size_t begin = 0, length = 0; length < most; ++length) {
    const std::size_t end = texts.size();
    for (std::size_t i = begin; i < end; ++i)
      for (const char c : characters) texts.push_back(texts[i] + c);
    begin = end;
  }
  return texts;
}

TEST(TextWithout, TakesTheTextsInWhichNoMarkStands) {
  const auto vocabulary = test::byte_vocabulary();
  for (const std::vector<std::string>& marks : std::vector<std::vector<std::string>>{
           {"<a"}, {"<ab"}, {"<aab"}, {"<ab", "<ba"}, {"<aa", "<ab", "<b"}, {"<abab", "<abb"}}) {
    Grammar grammar;
    grammar.set_root(text_without(marks, grammar).value());
    const auto compiled = CompiledConstraint::create(grammar, vocabulary).value();
    for (const std::string& text : all_texts("<abc", 7)) {
      const bool has_mark = std::ranges::any_of(marks, [&](const std::string& mark) { return text.contains(mark); });
      ASSERT_EQ(test::takes(compiled, text), !has_mark) << text << " without " << testing::PrintToString(marks);
    }
  }
}

TEST(TextWithout, RefusesMarksThatItCannotFollow) {
  const auto error = [](std::vector<std::string> marks) {
    Grammar grammar;
    const auto root = text_without(marks, grammar);
    return root ? std::string("none") : root.error().message;
  };
  EXPECT_THAT(error({}), HasSubstr("no mark"));
  EXPECT_THAT(error({""}), HasSubstr("two characters"));
  EXPECT_THAT(error({"<"}), HasSubstr("two characters"));
  EXPECT_THAT(error({"<\xFF"}), HasSubstr("UTF-8"));
  EXPECT_THAT(error({"<a<"}), HasSubstr("nowhere else"));
  EXPECT_THAT(error({"<a", "[a"}), HasSubstr("nowhere else"));
  EXPECT_THAT(error({"<ab", "<a"}), HasSubstr("another begins"));
}

}  // namespace
}  // namespace octavo
