#include "constraint/constraint_rules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "constraint/constraint_compiler.h"
#include "constraint/grammar/gbnf.h"
#include "constraint/vocabulary.h"

namespace octavo {
namespace {

using test::byte_vocabulary;
using test::takes;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Kind = ConstraintRule::Kind;

ConstraintSource source(std::vector<ConstraintRule> rules, std::string schema = R"({"type": "boolean"})") {
  return {.kind = ConstraintKind::kGrammar,
          .text = "root ::= free \"<a>\" value",
          .rules = std::move(rules),
          .schemas = {std::move(schema)}};
}

const ConstraintRule kFree = {.name = "free", .kind = Kind::kTextWithout, .texts = {"<a>"}};
const ConstraintRule kValue = {.name = "value"};

TEST(ConstraintRules, DefineWhatAGrammarNames) {
  ConstraintCompiler compiler(byte_vocabulary(), {});
  const auto compiled = compiler.compile(source({kFree, kValue}));
  ASSERT_TRUE(compiled.has_value()) << compiled.error().message;
  EXPECT_TRUE(takes(*compiled, "some <text<a>true"));
  EXPECT_TRUE(takes(*compiled, "<a>false"));
  EXPECT_FALSE(takes(*compiled, "<a>1"));
  EXPECT_FALSE(takes(*compiled, "true"));
}

TEST(ConstraintRules, ATextMatchesAPatternAndHasNoMark) {
  ConstraintCompiler compiler(byte_vocabulary(), {});
  const auto compiled = compiler.compile(
      {.kind = ConstraintKind::kGrammar,
       .text = "root ::= value \"</a>\"",
       .rules = {{.name = "value", .kind = Kind::kTextMatching, .texts = {"^x.*y", "</a>"}, .is_strict = true}}});
  ASSERT_TRUE(compiled.has_value()) << compiled.error().message;
  EXPECT_TRUE(takes(*compiled, "x</b>yz</a>"));
  EXPECT_FALSE(takes(*compiled, "x</a>y</a>"));
  EXPECT_FALSE(takes(*compiled, "xz</a>"));
}

TEST(ConstraintRules, APatternThatCannotBeEnforcedIsRefusedOrAnyText) {
  ConstraintCompiler compiler(byte_vocabulary(), {});
  const std::pair<std::string, std::string> patterns[] = {
      {"(a|b)*a(a|b){30}", "too many states"}, {"^a\\b$", "\\b"}, {"^</a>$", "no text matches"}};
  for (const auto& [pattern, why] : patterns) {
    ConstraintSource asked =
        source({kFree, {.name = "value", .kind = Kind::kTextMatching, .texts = {pattern, "</a>"}, .is_strict = true}});
    const auto refused = compiler.compile(asked);
    ASSERT_FALSE(refused.has_value()) << pattern;
    EXPECT_THAT(refused.error().message, HasSubstr(why));
    asked.rules[1].is_strict = false;
    const auto loose = compiler.compile(asked);
    ASSERT_TRUE(loose.has_value()) << loose.error().message;
    EXPECT_THAT((*loose)->warnings(), ElementsAre(HasSubstr(why)));
    EXPECT_TRUE(takes(*loose, "<a>any"));
    EXPECT_FALSE(takes(*loose, "<a></a>"));
  }
}

TEST(ConstraintRules, AreToldApartByTheirContent) {
  ConstraintCompiler compiler(byte_vocabulary(), {});
  const auto first = compiler.compile(source({kFree, kValue})).value();
  const auto other = compiler.compile(source({kFree, kValue}, R"({"type": "number", "$defs": {"a": {}}})")).value();
  EXPECT_NE(first, other);
  EXPECT_TRUE(takes(other, "<a>1"));
  EXPECT_EQ(compiler.compile(source({kFree, kValue})).value(), first);
  const ConstraintRule part = {.name = "value", .place = "/$defs/a"};
  const auto any = compiler.compile(source({kFree, part}, R"({"type": "number", "$defs": {"a": {}}})")).value();
  EXPECT_NE(any, other);
  EXPECT_TRUE(takes(any, "<a>null"));
}

TEST(ConstraintRules, AreNamedByTheOriginOfTheirSchemaWhereTheyHaveOne) {
  ConstraintCompiler compiler(byte_vocabulary(), {});
  const ConstraintRule rule = {.name = "value", .origin = "tools[0].input_schema"};
  const auto refused = compiler.compile(source({kFree, rule}, R"({"type": "nothing"})"));
  ASSERT_FALSE(refused.has_value());
  EXPECT_THAT(refused.error().message, ::testing::StartsWith("tools[0].input_schema: #/type: found"));
  const std::string loose = R"({"uniqueItems": true, "type": "array"})";
  EXPECT_THAT(compiler.compile(source({kFree, rule}, loose)).value()->warnings(),
              ElementsAre(::testing::StartsWith("tools[0].input_schema: #")));
  ConstraintRule other = rule;  // what was compiled for one is not told to another
  other.origin = "tools[1].input_schema";
  EXPECT_THAT(compiler.compile(source({kFree, other}, loose)).value()->warnings(),
              ElementsAre(::testing::StartsWith("tools[1].input_schema: #")));
}

TEST(ConstraintRules, AreRefusedWithTheirName) {
  ConstraintCompiler compiler(byte_vocabulary(), {});
  const auto error = [&](std::vector<ConstraintRule> rules, const std::string& schema = "true") {
    const auto compiled = compiler.compile(source(std::move(rules), schema));
    return compiled ? std::string("none") : compiled.error().message;
  };
  EXPECT_THAT(error({kFree}), HasSubstr("value"));
  EXPECT_THAT(error({kFree, kValue, {.name = "nobody"}}), HasSubstr("rule 'nobody'"));
  EXPECT_THAT(error({kFree, kValue, kValue}), HasSubstr("rule 'value'"));
  EXPECT_THAT(error({kFree, kValue}, "{"), HasSubstr("rule 'value'"));
  EXPECT_THAT(error({kFree, {.name = "value", .texts = {"true"}}}), HasSubstr("found 1 texts, expected none"));
  EXPECT_THAT(error({kFree, {.name = "value", .schema = 1}}), HasSubstr("found the schema 1 of 1"));
  EXPECT_THAT(error({kFree, {.name = "value", .place = "/a"}}), HasSubstr("found nothing at #/a"));
  EXPECT_THAT(error({{.name = "root"}}), HasSubstr("rule 'root'"));
}

TEST(ConstraintRules, WarnWithTheirName) {
  ConstraintCompiler compiler(byte_vocabulary(), {});
  const auto compiled = compiler.compile(
      source({kFree, kValue}, R"({"type": "string", "format": "no-such-format", "contentSchema": {}})"));
  ASSERT_TRUE(compiled.has_value()) << compiled.error().message;
  for (const std::string& warning : (*compiled)->warnings()) EXPECT_THAT(warning, ::testing::StartsWith("value: "));
  const std::string unique = R"({"type": "array", "uniqueItems": true})";
  EXPECT_THAT(compiler.compile(source({kFree, kValue}, unique)).value()->warnings(),
              ElementsAre(HasSubstr("value: #")));
  ConstraintSource both = source({kFree, kValue, {.name = "other", .place = "/a"}}, "{\"a\": " + unique + "}");
  both.text += " | other";
  EXPECT_THAT(compiler.compile(both).value()->warnings(), ElementsAre(HasSubstr("other: #/a")));
}

TEST(ConstraintRules, PartsOfOneSchemaShareWhatTheyReferTo) {
  std::string properties, definitions;
  for (int i = 0; i < 50; ++i) {
    definitions += fmt::format(R"({}"d{}": {{"type": "string", "minLength": {}}})", i > 0 ? "," : "", i, i);
    properties += fmt::format(R"({}"m{}": {{"$ref": "#/$defs/d{}"}})", i > 0 ? "," : "", i, i);
  }
  const std::string schema = fmt::format(
      R"({{"properties": {{"a": {{"$ref": "#/$defs/all"}}}}, "$defs": {{"all": {{"properties": {{{}}}}}, {}}}}})",
      properties, definitions);
  const auto num_rules = [&](int num_parts) {
    ConstraintSource asked{.kind = ConstraintKind::kGrammar, .text = "root ::= \"\"", .schemas = {schema}};
    for (int i = 0; i < num_parts; ++i) {
      asked.text += fmt::format(" p{}", i);
      asked.rules.push_back({.name = fmt::format("p{}", i), .place = "/properties/a"});
    }
    Grammar grammar = read_gbnf(asked.text, {}).value();
    std::vector<std::string> warnings;
    EXPECT_TRUE(define_rules(asked, grammar, warnings).has_value());
    return grammar.rules().size();
  };
  const std::size_t one = num_rules(1);
  EXPECT_GT(one, 50U);
  for (const int num_parts : {2, 4, 8}) EXPECT_EQ(num_rules(num_parts), one + static_cast<std::size_t>(num_parts - 1));
}

}  // namespace
}  // namespace octavo
