#include "constraint/grammar/json_grammar.h"

#include <gtest/gtest.h>

#include "constraint/vocabulary.h"

namespace octavo {
namespace {

using test::fulfils;

bool is_value(std::string_view text) {
  Grammar grammar;
  grammar.set_root(JsonGrammar(grammar).value());
  return fulfils(grammar, text);
}

TEST(JsonGrammar, TakesJson) {
  for (const char* text :
       {"{}", "[]", "{\"a\": [1, -2.50e+3, true, null], \"b\":{\"c\": \"\u20AC\"}}", "[\n  1,\n  2\n]",
        "\"\\u00e9\\n\\/\"", "\"\\ud83d\\ude00\"", "0", "-0.0", "\"\"", "[[[[]]]]", "{\n\t\"a\": false\n}"})
    EXPECT_TRUE(is_value(text)) << text;
}

TEST(JsonGrammar, RefusesWhatIsNoneOrHasMoreSpaceThanIsAllowed) {
  for (const char* text : {"",      "{",      "[1,]",    "{\"a\"}",     "01",          "1.",  ".5",
                           "+1",    "\"\n\"", "\"\\x\"", "\"\\ud83d\"", "\"\\ude00\"", "tru", "[1 ,2]",
                           "[  1]", " 1",     "1 ",      "{\"a\":  1}", "'a'",         "NaN", "[\n\n1]"})
    EXPECT_FALSE(is_value(text)) << text;
}

TEST(JsonGrammar, WritesCharactersOfASetInTheirShortestForm) {
  Grammar grammar;
  CodePointSet set('a');
  for (const std::uint32_t c : {0x22U, 0x5CU, 0x0AU, 0x01U, 0x1FU, 0x20ACU}) set.add(c);
  grammar.set_root(grammar.repeat(JsonGrammar(grammar).character(set), 0, Grammar::kAnyNumber));
  EXPECT_TRUE(fulfils(grammar, "a\\\"\\\\\\n\\u0001\\u001f\u20AC"));
  for (const char* text : {"\"", "\\", "\n", "\\t", "b", "\\u0061", "\\u0002"})
    EXPECT_FALSE(fulfils(grammar, text)) << text;
}

bool is_python(std::string_view text) {
  Grammar grammar;
  grammar.set_root(JsonGrammar(grammar, {.notation = ValueNotation::kPython}).value());
  return fulfils(grammar, text);
}

TEST(JsonGrammar, WritesLiteralsOfPython) {
  for (const char* text : {"{\"a\": [1, True, None]}", "False", "\"\\n\\u0001/\"", "\"\u20AC\""})
    EXPECT_TRUE(is_python(text)) << text;
  for (const char* text : {"true", "null", "\"\\/\"", "\"\\u00e9\"", "'a'"}) EXPECT_FALSE(is_python(text)) << text;
}

bool is_marked(std::string_view text) {
  Grammar grammar;
  grammar.set_root(JsonGrammar(grammar, {.notation = ValueNotation::kMarked, .mark = "<|\"|>"}).value());
  return fulfils(grammar, text);
}

TEST(JsonGrammar, WritesStringsBetweenMarksAndNoSpace) {
  for (const char* text : {"{<|\"|>a<|\"|>:[1,true,null]}", "<|\"|>\n\\ \"x\" <b> <|<|\"|>", "[]", "-1.5"})
    EXPECT_TRUE(is_marked(text)) << text;
  for (const char* text : {"[1, 2]", "\"a\"", "<|\"|>a", "<|\"|>a<|\"|>b<|\"|>", "{<|\"|>a<|\"|>: 1}"})
    EXPECT_FALSE(is_marked(text)) << text;
}

TEST(JsonGrammar, ANameIsBareBetweenMarksWhereItCanBeRead) {
  Grammar grammar;
  JsonGrammar json(grammar, {.notation = ValueNotation::kMarked, .mark = "<|\"|>"});
  grammar.set_root(grammar.alternatives({json.key("a_b-c"), json.key("a b"), json.key("a<|\"|>")}));
  EXPECT_TRUE(fulfils(grammar, "a_b-c:"));
  EXPECT_TRUE(fulfils(grammar, "<|\"|>a b<|\"|>:"));
  EXPECT_FALSE(fulfils(grammar, "a b:"));
  EXPECT_FALSE(fulfils(grammar, "<|\"|>a<|\"|><|\"|>:"));
}

TEST(JsonGrammar, AMarkMayBeAToken) {
  Grammar grammar;
  JsonGrammar json(grammar, {.notation = ValueNotation::kMarked, .mark = "<|\"|>", .mark_token = 7});
  grammar.set_root(json.text("a"));
  EXPECT_FALSE(fulfils(grammar, "<|\"|>a<|\"|>"));
}

}  // namespace
}  // namespace octavo
