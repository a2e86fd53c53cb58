#include "constraint/constraint_compiler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "constraint/vocabulary.h"

namespace octavo {
namespace {

using test::allowed_tokens;
using test::byte_vocabulary;
using test::takes;
using ::testing::HasSubstr;

TEST(ConstraintCompiler, CompilesEachKind) {
  ConstraintCompiler compiler(byte_vocabulary(), {});
  const auto regex = compiler.compile({.kind = ConstraintKind::kRegex, .text = "[0-9]{4}"}).value();
  EXPECT_TRUE(takes(regex, "2026"));
  EXPECT_FALSE(takes(regex, "20261"));
  const auto grammar =
      compiler.compile({.kind = ConstraintKind::kGrammar, .text = "root ::= \"a\" | \"b\" root"}).value();
  EXPECT_TRUE(takes(grammar, "bba"));
  const auto object = compiler.compile({.kind = ConstraintKind::kJsonObject}).value();
  EXPECT_TRUE(takes(object, "{\"a\": 1}"));
  EXPECT_FALSE(takes(object, "[]"));
  const auto choice = compiler.compile({.kind = ConstraintKind::kChoice, .choices = {"yes", "yesterday"}}).value();
  EXPECT_TRUE(takes(choice, "yes"));
  EXPECT_TRUE(takes(choice, "yesterday"));
  EXPECT_FALSE(takes(choice, "yester"));
}

TEST(ConstraintCompiler, KeepsTheLastOnesByContent) {
  ConstraintCompiler compiler(byte_vocabulary(), {});
  const auto first = compiler.compile({.text = "a"}).value();
  EXPECT_EQ(compiler.compile({.text = "a"}).value(), first);
  EXPECT_NE(compiler.compile({.kind = ConstraintKind::kChoice, .choices = {"a"}}).value(), first);
  for (std::size_t i = 0; i < ConstraintCompiler::kMaxKept; ++i)
    ASSERT_TRUE(compiler.compile({.text = "b" + std::to_string(i)}));
  EXPECT_NE(compiler.compile({.text = "a"}).value(), first) << "it was forgotten";
}

TEST(ConstraintCompiler, StopsWhereItsTokenAsksAndKeepsNothing) {
  ConstraintCompiler compiler(byte_vocabulary(), {});
  std::stop_source stop;
  stop.request_stop();
  const auto stopped = compiler.compile({.text = "a"}, stop.get_token());
  ASSERT_FALSE(stopped);
  EXPECT_EQ(stopped.error().message, kStoppedCompiling);
  EXPECT_TRUE(compiler.compile({.text = "a"}, std::stop_source().get_token()));
}

TEST(ConstraintCompiler, RefusesWhatTakesMoreWorkThanOneCompileMay) {
  ConstraintCompiler compiler(byte_vocabulary(), {}, 10'000);
  const auto refused = compiler.compile({.text = "[a-z]{200}[0-9]{200}[^a]{20000}"});
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("more than 10000 steps of work"));
  EXPECT_TRUE(compiler.compile({.text = "[a-z]"}));
}

TEST(ConstraintCompiler, RefusesChoicesThatAreNoneOrTooManyOrNoText) {
  ConstraintCompiler compiler(byte_vocabulary(), {});
  const auto error = [&](std::vector<std::string> choices) {
    return compiler.compile({.kind = ConstraintKind::kChoice, .choices = std::move(choices)}).error().message;
  };
  EXPECT_THAT(error({}), HasSubstr("found 0 choices"));
  EXPECT_THAT(error(std::vector<std::string>(ConstraintCompiler::kMaxChoices + 1, "a")), HasSubstr("found 4097"));
  EXPECT_THAT(error({"\xFF"}), HasSubstr("UTF-8"));
  EXPECT_THAT(error({std::string(ConstraintCompiler::kMaxChoiceBytes + 1, 'a')}), HasSubstr("bytes, expected at most"));
}

}  // namespace
}  // namespace octavo
