// Regular expressions, by what they take and refuse; the standard library's engine is the truth for what both know.
#include "constraint/regex/regex.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <chrono>
#include <regex>

#include "constraint/random_pattern.h"
#include "constraint/vocabulary.h"

namespace octavo {
namespace {

using test::fulfils;
using test::random_pattern;
using ::testing::HasSubstr;

bool matches(std::string_view pattern, std::string_view text, RegexReach reach = RegexReach::kWhole) {
  Grammar grammar;
  const auto root = read_regex(pattern, reach, grammar);
  if (!root) throw std::runtime_error(root.error().message);
  grammar.set_root(*root);
  return fulfils(grammar, text);
}

std::string error_of(std::string_view pattern) {
  Grammar grammar;
  const auto root = read_regex(pattern, RegexReach::kWhole, grammar);
  return root ? std::string() : root.error().message;
}

RC_GTEST_PROP(Regex, TakesTheTextsThatTheStandardLibraryTakes, ()) {
  const std::string pattern = random_pattern();
  const auto text = *rc::gen::container<std::string>(rc::gen::element('a', 'b', 'c', '1'));
  const std::string shortened = text.substr(0, 7);
  const std::regex truth(pattern, std::regex::ECMAScript);
  RC_ASSERT(matches(pattern, shortened) == std::regex_match(shortened, truth));
  RC_ASSERT(matches(pattern, shortened, RegexReach::kSomewhere) == std::regex_search(shortened, truth));
  RC_ASSERT(matches("^(?:" + pattern + ")", shortened, RegexReach::kSomewhere) ==
            std::regex_search(shortened, std::regex("^(?:" + pattern + ")")));
  RC_ASSERT(matches("(?:" + pattern + ")$", shortened, RegexReach::kSomewhere) ==
            std::regex_search(shortened, std::regex("(?:" + pattern + ")$")));
}

TEST(Regex, ReadsCharactersInEveryForm) {
  EXPECT_TRUE(
      matches("\\u20ac\\u{1F600}\\ud83d\\ude00\\x41\\cJ\\t\\0", std::string("\u20AC\U0001F600\U0001F600A\n\t\0", 15)));
  EXPECT_TRUE(matches("[\\u00e0-\\u00ff]+", "\u00E9\u00FF"));
  EXPECT_FALSE(matches("[\\u00e0-\\u00ff]+", "\u00DF"));
  EXPECT_TRUE(matches("\\p{Lu}\\p{Letter}\\P{L}\\p{gc=Nd}", "\u00C9\u00E91\u0663"));
  EXPECT_TRUE(matches("[a\\-z\\]]+", "a-z]"));
  EXPECT_TRUE(matches("a{,2}{", "a{,2}{")) << "braces that are no counts are characters";
  EXPECT_TRUE(matches(".", "\U0001F600"));
  EXPECT_FALSE(matches(".", "\u2028"));
}

TEST(Regex, TakesAnchorsAtTheEndsOfTheText) {
  EXPECT_TRUE(matches("^a|b$", "xxb", RegexReach::kSomewhere));
  EXPECT_TRUE(matches("^a|b$", "axx", RegexReach::kSomewhere));
  EXPECT_FALSE(matches("^a|b$", "xax", RegexReach::kSomewhere));
  EXPECT_TRUE(matches("(^|x)a($|y)", "zxay", RegexReach::kSomewhere));
  EXPECT_TRUE(matches("^$", "", RegexReach::kSomewhere));
  EXPECT_FALSE(matches("^$", "a", RegexReach::kSomewhere));
  EXPECT_TRUE(matches("^abc$", "abc"));
}

TEST(Regex, RefusesWhatItCannotEnforceByName) {
  for (const auto& [pattern, found] :
       std::vector<std::pair<const char*, const char*>>{{"x(?=a)b", "look-around"},
                                                        {"a(?<!b)c", "look-around"},
                                                        {"(a)\\1", "back-reference"},
                                                        {"\\k<n>", "back-reference"},
                                                        {"\\bword", "\\b"},
                                                        {"(?i)a", "a group other than"},
                                                        {"a^b", "'^' inside"},
                                                        {"(a$)b", "'$' inside"},
                                                        {"(a", "not closed"},
                                                        {"a)", "closes nothing"},
                                                        {"[a", "not closed"},
                                                        {"*a", "nothing to repeat"},
                                                        {"a**", "quantifier behind"},
                                                        {"a{3,2}", "counts whose first"},
                                                        {"[b-a]", "range whose first"},
                                                        {"\\p{Nope}", "no general category"},
                                                        {"\\u{110000}", "beyond Unicode"},
                                                        {"\\xg1", "hexadecimal"},
                                                        {"\\", "backslash"},
                                                        {"\xFF", "expected UTF-8"}})
    EXPECT_THAT(error_of(pattern), HasSubstr(found)) << pattern;
}

TEST(Regex, BoundsDepthAndLength) {
  std::string nested(60000, '(');
  nested += "a" + std::string(60000, ')');
  EXPECT_THAT(error_of(nested), HasSubstr("expected at most"));
  EXPECT_THAT(error_of(nested.substr(30000, 60001)), HasSubstr("nested deeper"));
}

TEST(Regex, FollowsCatastrophicPatternsInTime) {
  const auto start = std::chrono::steady_clock::now();
  const std::string many(2000, 'x');
  EXPECT_FALSE(matches("(x+x+)+y", many));
  EXPECT_TRUE(matches("(x?){200}x{200}", std::string(300, 'x')));
  EXPECT_TRUE(matches("(a|b|ab)*a(a|b){20}", "ababab" + std::string(20, 'b') + "a" + std::string(20, 'a')));
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(20));
}

}  // namespace
}  // namespace octavo
