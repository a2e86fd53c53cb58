#include "constraint/constraint_rules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "constraint/constraint_compiler.h"
#include "constraint/vocabulary.h"

namespace octavo {
namespace {

using test::byte_vocabulary;
using test::takes;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Kind = ConstraintRule::Kind;

ConstraintSource source(std::vector<ConstraintRule> rules) {
  return {.kind = ConstraintKind::kGrammar, .text = "root ::= free \"<a>\" value", .rules = std::move(rules)};
}

const ConstraintRule kFree = {.name = "free", .kind = Kind::kTextWithout, .texts = {"<a>"}};
const ConstraintRule kValue = {.name = "value", .texts = {R"({"type": "boolean"})"}};

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
  ConstraintRule number = kValue;
  number.texts = {R"({"type": "number"})"};
  const auto first = compiler.compile(source({kFree, kValue})).value();
  const auto other = compiler.compile(source({kFree, number})).value();
  EXPECT_NE(first, other);
  EXPECT_TRUE(takes(other, "<a>1"));
  EXPECT_EQ(compiler.compile(source({kFree, kValue})).value(), first);
}

TEST(ConstraintRules, AreRefusedWithTheirName) {
  ConstraintCompiler compiler(byte_vocabulary(), {});
  const auto error = [&](std::vector<ConstraintRule> rules) {
    const auto compiled = compiler.compile(source(std::move(rules)));
    return compiled ? std::string("none") : compiled.error().message;
  };
  EXPECT_THAT(error({kFree}), HasSubstr("value"));
  EXPECT_THAT(error({kFree, kValue, {.name = "nobody", .texts = {"true"}}}), HasSubstr("rule 'nobody'"));
  EXPECT_THAT(error({kFree, kValue, kValue}), HasSubstr("rule 'value'"));
  EXPECT_THAT(error({kFree, {.name = "value", .texts = {"{"}}}), HasSubstr("rule 'value'"));
  EXPECT_THAT(error({kFree, {.name = "value", .texts = {}}}), HasSubstr("found 0 texts"));
  EXPECT_THAT(error({{.name = "root", .texts = {"true"}}}), HasSubstr("rule 'root'"));
}

TEST(ConstraintRules, WarnWithTheirName) {
  ConstraintCompiler compiler(byte_vocabulary(), {});
  ConstraintRule odd = kValue;
  odd.texts = {R"({"type": "string", "format": "no-such-format", "contentSchema": {}})"};
  const auto compiled = compiler.compile(source({kFree, odd}));
  ASSERT_TRUE(compiled.has_value()) << compiled.error().message;
  for (const std::string& warning : (*compiled)->warnings()) EXPECT_THAT(warning, ::testing::StartsWith("value: "));
  odd.texts = {R"({"type": "array", "uniqueItems": true})"};
  const auto unique = compiler.compile(source({kFree, odd})).value();
  EXPECT_THAT(unique->warnings(), ElementsAre(HasSubstr("value: #")));
}

}  // namespace
}  // namespace octavo
