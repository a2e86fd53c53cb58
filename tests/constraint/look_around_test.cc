#include "constraint/regex/look_around.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <regex>

#include "constraint/regex/character_dfa.h"

namespace octavo {
namespace {

/// Every text of at most `length` of these characters.
std::vector<std::string> texts_of(std::string_view characters, std::size_t length) {
  std::vector<std::string> texts = {""};
  for (std::size_t begin = 0, round = 0; round < length; ++round) {
    const std::size_t end = texts.size();
    for (; begin < end; ++begin)
      for (const char c : characters) texts.push_back(texts[begin] + c);
  }
  return texts;
}

CharacterDfa dfa_of(const std::string& pattern, RegexReach reach) {
  CompileWork work;
  auto dfa = CharacterDfa::of_pattern(pattern, reach, work);
  EXPECT_TRUE(dfa) << pattern << ": " << (dfa ? "" : dfa.error().message);
  EXPECT_TRUE(dfa && *dfa) << pattern;
  return **dfa;
}

/// The patterns that the library of C++ knows as well.
TEST(LookAround, AheadOfATextIsWhatTheStandardLibraryFinds) {
  for (const char* pattern :
       {"^(?!ab)[a-c]*$", "^(?=a)[a-c]+$", "^(?=.*b)(?=.*c)[abc]{2,4}$", "^(?!.*aa)(?!.*bb).*$", "^(?!a$)",
        "^(?!a|bc)b?c?", "^(?=(?:ab|c)+$)", "^(?!)", "^(?=)a", "^(?![)\\]])[a)]+$", "^(?!\\))a?"}) {
    SCOPED_TRACE(pattern);
    const std::regex original(pattern, std::regex::ECMAScript);
    const CharacterDfa somewhere = dfa_of(pattern, RegexReach::kSomewhere), whole = dfa_of(pattern, RegexReach::kWhole);
    for (const std::string& text : texts_of("abc)", 5)) {
      EXPECT_EQ(somewhere.accepts(text), std::regex_search(text, original)) << text;
      EXPECT_EQ(whole.accepts(text), std::regex_match(text, original)) << text;
    }
  }
}

/// It has no look-behind: these say the same without.
TEST(LookAround, BehindATextIsWhatPatternsWithoutItSay) {
  for (const auto& [pattern, same] :
       std::vector<std::pair<const char*, const char*>>{{"^[a-c]+(?<!a)$", "^[a-c]*[bc]$"},
                                                        {"^[a-c]*(?<=ab)$", "^[a-c]*ab$"},
                                                        {"^[abc]*(?<!ab)(?<=b)$", "^(?:[abc]*[bc]b|b)$"},
                                                        {"(?<!c)$", "^(?:(?:.|\\n)*[^c])?$"}}) {
    SCOPED_TRACE(pattern);
    const std::regex original(same, std::regex::ECMAScript);
    const CharacterDfa dfa = dfa_of(pattern, RegexReach::kSomewhere);
    for (const std::string& text : texts_of("abc", 5))
      EXPECT_EQ(dfa.accepts(text), std::regex_search(text, original)) << text;
  }
}

TEST(LookAround, WhereAllOfTheTextMustMatchAnchorsMayBeMissing) {
  const CharacterDfa dfa = dfa_of("(?!a)[a-c]{2}(?<!c)", RegexReach::kWhole);
  EXPECT_TRUE(dfa.accepts("bb"));
  EXPECT_FALSE(dfa.accepts("ab"));
  EXPECT_FALSE(dfa.accepts("bc"));
  EXPECT_TRUE(split_look_around("(?!a)[a-c]{2}(?<!c)", RegexReach::kSomewhere).looks.empty());
}

TEST(LookAround, StaysInThePatternWhereItBindsOnlyAPartOfIt) {
  std::string many = "^";
  for (std::size_t i = 0; i <= kMaxLooks; ++i) many += "(?!a)";
  CompileWork work;
  for (const std::string& pattern :
       {std::string("^(?!a)b|c"), std::string("(?!a)b"), std::string("b(?!a)$"), std::string("^(?:(?!a)b)$"),
        std::string("^(?!a)*b"), std::string("^(?!a"), many}) {
    const SplitPattern split = split_look_around(pattern, RegexReach::kSomewhere);
    EXPECT_TRUE(split.looks.empty()) << pattern;
    EXPECT_EQ(split.rest, pattern);
    EXPECT_FALSE(CharacterDfa::of_pattern(pattern, RegexReach::kSomewhere, work)) << pattern;
  }
}

}  // namespace
}  // namespace octavo
