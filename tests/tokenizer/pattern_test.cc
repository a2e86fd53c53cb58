// Patterns: what they match, and what is refused. tools/tokenizer_truth.py compares those of the table with Oniguruma.
#include "tokenizer/pretokenize/pattern.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tokenizer/pretokenize/pattern_program.h"
#include "tokenizer/pretokenize/pretokenize.h"

namespace octavo::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::vector<std::string> cut(std::string_view pattern, std::string_view text) {
  const CutStage stage{pattern};
  const auto pre_tokenizer = PreTokenizer::create({&stage, 1}, Normalization::kNone, false);
  if (!pre_tokenizer) return {pre_tokenizer.error().message};
  const auto ends = pre_tokenizer->split(text);
  if (!ends) return {ends.error().message};
  std::vector<std::string> pieces;
  std::size_t begin = 0;
  for (const std::uint32_t end : *ends) {
    pieces.emplace_back(text.substr(begin, end - begin));
    begin = end;
  }
  return pieces;
}

TEST(Pattern, TheFirstAlternativeThatFitsWins) {
  EXPECT_THAT(cut("a|ab", "abab"), ElementsAre("a", "b", "a", "b"));
  EXPECT_THAT(cut("ab|a", "aba"), ElementsAre("ab", "a"));
  EXPECT_THAT(cut("(?:a|ab)(?:c|bcd)", "abcd"), ElementsAre("abcd"));
}

TEST(Pattern, GreedyLazyAndPossessive) {
  EXPECT_THAT(cut("a+", "aab"), ElementsAre("aa", "b"));
  EXPECT_THAT(cut("a+?", "aab"), ElementsAre("a", "a", "b"));
  EXPECT_THAT(cut("a{2}", "aaaaa"), ElementsAre("aa", "aa", "a"));
  EXPECT_THAT(cut("a{1,3}", "aaaaa"), ElementsAre("aaa", "aa"));
  EXPECT_THAT(cut("a{2,}b", "aaab"), ElementsAre("aaab"));
  EXPECT_THAT(cut("a++a|b", "aab"), ElementsAre("aa", "b")) << "nothing is given back";
  EXPECT_THAT(cut("a?+a", "aa"), ElementsAre("aa"));
  EXPECT_THAT(cut("[ab]*+b|c", "abc"), ElementsAre("ab", "c"));
}

TEST(Pattern, LooksAhead) {
  EXPECT_THAT(cut(R"(\s+(?!\S)|x)", "   x  "), ElementsAre("  ", " ", "x", "  "));
  EXPECT_THAT(cut("a(?=b)", "abaa"), ElementsAre("a", "baa"));
  EXPECT_THAT(cut(R"(\s+$)", "a  b  "), ElementsAre("a  b", "  "));
  EXPECT_THAT(cut(R"( +$)", "a  \nb  "), ElementsAre("a", "  ", "\nb", "  ")) << "$ is the end of any line";
}

TEST(Pattern, AGreedyRepeatEndsWhereNoMoreIsNext) {
  EXPECT_THAT(cut(R"((?:\r?\n)+(?!\r?\n)|x)", "a\r\n\nbx\r"), ElementsAre("a", "\r\n\n", "b", "x", "\r"));
  EXPECT_THAT(cut("(?:a|bc)+(?!a|bc)", "abcab"), ElementsAre("abca", "b"));
  for (const char* other : {"(?:a|bc)+?(?!a|bc)", "(?:bc)+(?!bc)b", "(?:(?:bc)+(?!bc)|d)+", "(?:b?c?)+(?!b?c?)"})
    EXPECT_THAT(cut(other, "bc").front(), HasSubstr("ook")) << other;
}

TEST(Pattern, Classes) {
  EXPECT_THAT(cut(R"([a-c\-x]+)", "abd-x"), ElementsAre("ab", "d", "-x"));
  EXPECT_THAT(cut(R"([^\s\p{L}]+)", "1! a"), ElementsAre("1!", " a"));
  EXPECT_THAT(cut(R"([\p{L}&&[^a-z]]+)", "aBCd"), ElementsAre("a", "BC", "d"));
  EXPECT_THAT(cut(R"([(\s|[.,])]+)", "a. b)"), ElementsAre("a", ". ", "b", ")"));
  EXPECT_THAT(cut(R"(\P{Lu}+)", "abCd"), ElementsAre("ab", "C", "d"));
  EXPECT_THAT(cut(R"([\x{4E00}-\x{9FA5}]+)", "a中文b"), ElementsAre("a", "中文", "b"));
  EXPECT_THAT(cut(R"(\u4e2d\x61)", "中a"), ElementsAre("中a"));
}

TEST(Pattern, CaseIsIgnoredWhereAskedFor) {
  EXPECT_THAT(cut("(?i:'s|k)", "'S'sK"), ElementsAre("'S", "'s", "K"));
  EXPECT_THAT(cut("(?i:s)s", "Sss"), ElementsAre("Ss", "s"));
  EXPECT_THAT(cut("(?i:'s)", "'\u017F"), ElementsAre("'\u017F")) << "the long s, as in Oniguruma";
}

TEST(Pattern, WhatIsNotSupportedIsNamed) {
  const auto message = [](std::string_view pattern) { return cut(pattern, "a").front(); };
  EXPECT_THAT(message(R"(\w+)"), HasSubstr("'\\w'"));
  EXPECT_THAT(message(R"(\b)"), HasSubstr("'\\b'"));
  EXPECT_THAT(message(R"((a)\1)"), HasSubstr("'\\1'"));
  EXPECT_THAT(message("^a"), HasSubstr("'^'"));
  EXPECT_THAT(message("(?<=a)b"), HasSubstr("a group other than"));
  EXPECT_THAT(message("a(?=bc)"), HasSubstr("look-ahead"));
  EXPECT_THAT(message("(a"), HasSubstr("not closed"));
  EXPECT_THAT(message("a)"), HasSubstr("closes nothing"));
  EXPECT_THAT(message("[a"), HasSubstr("not closed"));
  EXPECT_THAT(message("[b-a]"), HasSubstr("range"));
  EXPECT_THAT(message(R"(\p{Han})"), HasSubstr("general category"));
  EXPECT_THAT(message("a{1001}"), HasSubstr("1000"));
  EXPECT_THAT(message("a{3,2}"), HasSubstr("empty"));
  EXPECT_THAT(message("a*"), HasSubstr("can match nothing"));
  EXPECT_THAT(message("a**"), HasSubstr("quantifier"));
  EXPECT_THAT(message(std::string(100, '(')), HasSubstr("too deep"));
  EXPECT_THAT(message(std::string(20000, 'a')), HasSubstr("at most 16384"));
  EXPECT_THAT(message("(?:(?:a{1000}){1000}){1000}"), HasSubstr("instructions"));
  EXPECT_THAT(message("(?:a|b)*a(?:a|b){12}"), HasSubstr("states"));
}

TEST(Pattern, ARepeatThatReadsNothingIsNothing) {
  for (const char* nothing :
       {"(?:(?:(?:){1000}){1000}){1000}", "(?:(?:(?:a{0}){1000}){1000}){1000}", "(?:(?:(?:|){1000}){1000}){1000}",
        "(?:(?:(?:){0,1000}){0,1000}){1000}", "(?:(?:(?:)*)+)?", "(?:(?:(?:[ab]{0,0}|)+?){1000})*"}) {
    const auto pattern = parse_pattern(std::string(nothing) + "a");
    ASSERT_TRUE(pattern) << pattern.error().message;
    EXPECT_EQ(pattern->kind, RegexNode::Kind::kSet) << nothing << ": all that is left is the a";
    EXPECT_THAT(cut(std::string(nothing) + "a", "aba"), ElementsAre("a", "b", "a"));
    EXPECT_THAT(cut(nothing, "a").front(), HasSubstr("can match nothing"));
  }
  std::string many;  // nodes that read nothing, in a repeat that does
  for (int i = 0; i < 4000; ++i) many += "(?:)";
  const auto pattern = parse_pattern("(?:(?:" + many + "a){1000}){1000}");
  ASSERT_TRUE(pattern);
  const auto map = SymbolMap::create({&*pattern, 1});
  EXPECT_THAT(PatternProgram::create(*pattern, *map).error().message, HasSubstr("instructions"));
  for (const RegexNode* node = &*pattern; !node->children.empty(); node = &node->children.front())
    EXPECT_EQ(node->children.size(), 1U);
}

TEST(Pattern, AllOfAPreTokenizerShareABoundOnTheStepsOfPreparing) {
  const std::string slow = "(?:[a-z]?){900}x";  // as many threads as there are states
  const auto made_of = [&](std::size_t count) {
    const std::vector<CutStage> stages(count, CutStage{slow});
    const auto made = PreTokenizer::create(stages, Normalization::kNone, false);
    return made ? std::string("made") : made.error().message;
  };
  EXPECT_EQ(made_of(1), "made");
  EXPECT_THAT(made_of(32), HasSubstr("takes more than 33554432 steps to prepare"));
}

TEST(Pattern, OneThatLooksFarAheadAgainAndAgainEndsWithAnError) {
  const std::string text(100'000, 'a');
  EXPECT_THAT(cut("a+b|a", text).front(), HasSubstr("looked at bytes"));
  EXPECT_EQ(cut("a+b", text).size(), 1U) << "an attempt that fails as the one before it did costs nothing";
}

}  // namespace
}  // namespace octavo::test
