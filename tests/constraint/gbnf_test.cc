#include "constraint/grammar/gbnf.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "constraint/vocabulary.h"

namespace octavo {
namespace {

using test::fulfils;
using ::testing::HasSubstr;

Grammar read(std::string_view text) {
  auto grammar = read_gbnf(text, {});
  if (!grammar) throw std::runtime_error(grammar.error().message);
  return std::move(*grammar);
}

std::string error_of(std::string_view text) {
  const auto grammar = read_gbnf(text, {.num_tokens = 10});
  if (!grammar) return grammar.error().message;
  const auto built = Automaton::build(*grammar);
  return built ? std::string() : built.error().message;
}

// Grammars in the style of llama.cpp's grammars/README.md.
TEST(Gbnf, ReadsRulesOfLiteralsClassesGroupsAndQuantifiers) {
  const Grammar arithmetic = read(R"gbnf(# sums
root  ::= (expr "=" ws term "\n")+
expr  ::= term ([-+*/] term)*
term  ::= ident | num | "(" ws expr ")" ws
ident ::= [a-z] [a-z0-9_]* ws
num   ::= [0-9]+ ws
ws    ::= [ \t\n]*
)gbnf");
  EXPECT_TRUE(fulfils(arithmetic, "(a +12)*b = c\n1=2\n"));
  EXPECT_FALSE(fulfils(arithmetic, "(a + = c\n"));
  const Grammar counted = read("root ::= \"a\"{2} [^b-d\\]]{1,2}\n | . {3,} ([\\u00e9] |\n \"\\x41\"\n)?");
  for (const char* text : {"aaxy", "aa\u00E9", "123", "12345\u00E9", "bcdA"})
    EXPECT_TRUE(fulfils(counted, text)) << text;
  EXPECT_FALSE(fulfils(counted, "aa"));
}

TEST(Gbnf, LetsNestedSequencesRunOverLines) {
  EXPECT_TRUE(fulfils(read("root ::= (\n  \"a\" # first\n  \"b\"\n)\nother ::= \"c\""), "ab"));
}

TEST(Gbnf, NamesTokensByTextAndId) {
  const TokenNames names{.num_tokens = 10, .find = [](std::string_view text) -> std::optional<TokenId> {
                           return text == "<think>" ? std::optional<TokenId>(7) : std::nullopt;
                         }};
  const auto grammar = read_gbnf("root ::= <think> <[9]>", names);
  ASSERT_TRUE(grammar);
  ASSERT_EQ(grammar->at(grammar->rules()[0].body).children.size(), 2U);
  EXPECT_EQ(grammar->at(grammar->at(grammar->rules()[0].body).children[0]).first, 7U);
  EXPECT_EQ(grammar->at(grammar->at(grammar->rules()[0].body).children[1]).first, 9U);
}

TEST(Gbnf, RefusesWhatIsWrongWithItsLine) {
  for (const auto& [text, found] : std::vector<std::pair<const char*, const char*>>{
           {"", "no rule 'root'"},
           {"a ::= \"b\"", "no rule 'root'"},
           {"root = \"a\"", "expected '::='"},
           {"root ::= \"a", "line 1"},
           {"root ::= [a", "']'"},
           {"root ::= (\"a\"", "')'"},
           {"root ::= \"a\"\nroot ::= \"b\"", "one definition of the rule 'root'"},
           {"root ::= b", "no definition of the rule 'b'"},
           {"root ::= \"\\q\"", "backslash"},
           {"root ::= \"a\"{2,1}", "counts in order"},
           {"root ::= [b-a]", "range in order"},
           {"root ::= <[10]>", "0 to 9"},
           {"root ::= <nope>", "vocabulary"},
           {"root ::= root \"a\" | \"b\"", "left recursion"},
           {"root ::= \"\\U00110000\"", "code point"},
           {"root ::= \"a\" ; x", "end of a line"},
           {"root ::= \"\xFF\"", "UTF-8"}})
    EXPECT_THAT(error_of(text), HasSubstr(found)) << text;
  EXPECT_THAT(error_of("root ::= " + std::string(60000, '(')), HasSubstr("at most 200 levels"));
  EXPECT_THAT(error_of(std::string(kMaxGbnfBytes + 1, ' ')), HasSubstr("expected at most"));
}

}  // namespace
}  // namespace octavo
