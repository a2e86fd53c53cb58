// Automata over characters: the standard library's engine, sets of texts and the grammar that is written are the truth.
#include "constraint/regex/character_dfa.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <regex>

#include "constraint/random_pattern.h"
#include "constraint/recogniser.h"

namespace octavo {
namespace {

using test::random_pattern;

CharacterDfa of_pattern(std::string_view pattern, RegexReach reach = RegexReach::kSomewhere) {
  CompileWork work;
  return CharacterDfa::of_pattern(pattern, reach, work).value().value();
}

CharacterDfa common(const CharacterDfa& a, const CharacterDfa& b) {
  CompileWork work;
  return a.intersection(b, work).value();
}

std::string random_text() {
  return (*rc::gen::container<std::string>(rc::gen::element('a', 'b', 'c', '1'))).substr(0, 6);
}

RC_GTEST_PROP(CharacterDfa, OfAPatternAcceptsTheTextsInWhichItIsFound, ()) {
  const std::string pattern = random_pattern(), text = random_text();
  const std::regex truth(pattern);
  RC_ASSERT(of_pattern(pattern, RegexReach::kWhole).accepts(text) == std::regex_match(text, truth));
  RC_ASSERT(of_pattern(pattern).accepts(text) == std::regex_search(text, truth));
  RC_ASSERT(of_pattern("^(?:" + pattern + ")$").accepts(text) == std::regex_match(text, truth));
  RC_ASSERT(of_pattern("a(^|" + pattern + ")(b$|c)").accepts(text) ==
            std::regex_search(text, std::regex("a(" + pattern + ")(b$|c)")));
}

RC_GTEST_PROP(CharacterDfa, IntersectionAndComplementAreThoseOfSets, ()) {
  const CharacterDfa a = of_pattern(random_pattern(), RegexReach::kWhole), b = of_pattern(random_pattern());
  const std::string text = random_text();
  const CharacterDfa both = common(a, b), other = a.complement();
  RC_ASSERT(both.accepts(text) == (a.accepts(text) && b.accepts(text)));
  RC_ASSERT(other.accepts(text) == !a.accepts(text));
  RC_ASSERT(common(a, other).is_empty());
  if (both.accepts(text)) {
    RC_ASSERT(!both.is_empty());
    RC_ASSERT(both.shortest() <= text.size());
    RC_ASSERT(both.longest().value_or(text.size()) >= text.size());
  }
}

RC_GTEST_PROP(CharacterDfa, IsWrittenAsAGrammarOfTheSameTexts, ()) {
  const CharacterDfa first = of_pattern(random_pattern(), RegexReach::kWhole), second = of_pattern(random_pattern());
  // Sets without what the recogniser would try one by one.
  const CharacterDfa ascii = of_pattern("[a-c1]*", RegexReach::kWhole);
  const CharacterDfa dfa = common(common(first, second.complement()), ascii);
  Grammar grammar;
  grammar.set_root(dfa.write([](Grammar& to, const CodePointSet& set) { return to.set(set); }, grammar));
  const std::string text = random_text();
  RC_ASSERT(test::Recogniser(grammar, text).is_whole() == dfa.accepts(text));
}

RC_GTEST_PROP(CharacterDfa, OfTextsAcceptsThemAlone, ()) {
  const auto texts =
      *rc::gen::container<std::vector<std::string>>(rc::gen::container<std::string>(rc::gen::element('a', 'b', 'c')));
  CompileWork work;
  const CharacterDfa dfa = CharacterDfa::of_texts(texts, work).value();
  for (const std::string& text : texts) RC_ASSERT(dfa.accepts(text));
  const std::string text = random_text();
  RC_ASSERT(dfa.accepts(text) == (std::ranges::find(texts, text) != texts.end()));
}

TEST(CharacterDfa, CountsCharactersNotBytes) {
  const CharacterDfa dfa = CharacterDfa::of_lengths(1, 2).value();
  EXPECT_TRUE(dfa.accepts("\u20AC\U0001F600"));
  EXPECT_FALSE(dfa.accepts(""));
  EXPECT_FALSE(dfa.accepts("abc"));
  EXPECT_EQ(dfa.longest(), 2U);
  EXPECT_EQ(CharacterDfa::of_lengths(3, Grammar::kAnyNumber).value().shortest(), 3U);
  EXPECT_FALSE(CharacterDfa::of_lengths(3, Grammar::kAnyNumber).value().longest().has_value());
}

TEST(CharacterDfa, HasNoValueWhereItTakesTooManyStates) {
  CompileWork work;
  EXPECT_FALSE(CharacterDfa::of_lengths(0, 100000).has_value());
  EXPECT_FALSE(CharacterDfa::of_pattern("a.{30}$", RegexReach::kSomewhere, work).value().has_value());
  EXPECT_FALSE(CharacterDfa::of_pattern("((a{1000}){1000}){1000}", RegexReach::kWhole, work).value().has_value());
  EXPECT_FALSE(CharacterDfa::of_texts(std::vector{std::string(10000, 'a')}, work).has_value());
  EXPECT_FALSE(CharacterDfa::of_pattern("(", RegexReach::kWhole, work).has_value()) << "an error";
}

}  // namespace
}  // namespace octavo
