#include "constraint/constraint_compiler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

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

/// Without the byte 0xF2, as the default model's: no token has a part of a character from U+80000 to U+BFFFF.
std::shared_ptr<const ConstraintVocabulary> vocabulary_without_f2() {
  std::vector<std::string> texts;
  for (int byte = 0; byte < 256; ++byte) texts.emplace_back(1, static_cast<char>(byte == 0xF2 ? 'a' : byte));
  return test::make_vocabulary(std::move(texts));
}

TEST(ConstraintCompiler, AConstraintThatTheVocabularyCannotWriteIsAnErrorWithTheByte) {
  ConstraintCompiler compiler(vocabulary_without_f2(), {});
  const std::string text = "\U000B0061", quoted = "\"" + text + "\"";
  for (const ConstraintSource& source :
       {ConstraintSource{.kind = ConstraintKind::kRegex, .text = "a+[\\u{B0000}-\\u{BFFFF}]"},
        ConstraintSource{.kind = ConstraintKind::kGrammar, .text = "root ::= \"a\" " + quoted},
        ConstraintSource{.kind = ConstraintKind::kChoice, .choices = {text, "a" + text}},
        ConstraintSource{.kind = ConstraintKind::kJsonSchema, .text = R"({"const": [1, )" + quoted + "]}"},
        ConstraintSource{.kind = ConstraintKind::kJsonSchema, .text = R"({"enum": [)" + quoted + "]}"},
        ConstraintSource{
            .kind = ConstraintKind::kJsonSchema,
            .text = R"({"type": "object", "properties": {"a": {"enum": [)" + quoted + R"(]}}, "required": ["a"]})"}}) {
    const auto compiled = compiler.compile(source);
    ASSERT_FALSE(compiled.has_value()) << source.text;
    EXPECT_THAT(compiled.error().message, HasSubstr("no token of its vocabulary has the byte 0xF2"));
  }
}

TEST(ConstraintCompiler, AnAnswerNeverEntersAWayThatTheVocabularyCannotWrite) {
  const auto vocabulary = vocabulary_without_f2();
  ConstraintCompiler compiler(vocabulary, {});
  const auto choice = compiler.compile({.kind = ConstraintKind::kChoice, .choices = {"ab\U000B0061", "cd"}}).value();
  ConstraintState state;
  state.begin(choice, std::nullopt);
  EXPECT_EQ(allowed_tokens(state, *vocabulary), std::vector<TokenId>{'c'});
  const auto schema =
      compiler.compile({.kind = ConstraintKind::kJsonSchema, .text = R"({"enum": ["x\uDA80\uDC61", "y"]})"}).value();
  EXPECT_TRUE(takes(schema, R"("y")"));
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

TEST(ConstraintCompiler, KeepsTheTwoReadingsOfOneSchemaApart) {
  ConstraintCompiler compiler(byte_vocabulary(), {});
  const std::string other = R"({"b": 1})";
  ConstraintSource schema{.kind = ConstraintKind::kJsonSchema, .text = R"({"properties": {"a": {}}})"};
  ConstraintSource grammar{.kind = ConstraintKind::kGrammar,
                           .text = "root ::= value",
                           .rules = {{.name = "value"}},
                           .schemas = {schema.text}};
  for (ConstraintSource* source : {&schema, &grammar}) {
    const auto written = compiler.compile(*source).value();
    source->closes_objects = true;
    const auto closed = compiler.compile(*source).value();
    EXPECT_TRUE(takes(written, other));
    EXPECT_FALSE(takes(closed, other));
    EXPECT_EQ(compiler.compile(*source).value(), closed);
    source->closes_objects = false;
    EXPECT_EQ(compiler.compile(*source).value(), written);
  }
}

TEST(ConstraintCompiler, StopsWhereItsTokenAsksAndKeepsNothing) {
  ConstraintCompiler compiler(byte_vocabulary(), {});
  std::stop_source stop;
  stop.request_stop();
  const auto stopped = compiler.compile({.text = "a"}, stop.get_token());
  ASSERT_FALSE(stopped);
  EXPECT_EQ(stopped.error().kind, ErrorKind::kStopped);
  EXPECT_TRUE(compiler.compile({.text = "a"}, std::stop_source().get_token()));
}

TEST(ConstraintCompiler, RefusesWhatTakesMoreWorkThanOneCompileMay) {
  ConstraintCompiler compiler(byte_vocabulary(), {}, std::make_shared<ConstraintMemory>(), 10'000);
  const auto refused = compiler.compile({.text = "[a-z]{200}[0-9]{200}[^a]{20000}"});
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("more than 10000 steps of work"));
  EXPECT_TRUE(compiler.compile({.text = "[a-z]"}));
}

/// About that many bytes of states: as many different texts as it takes.
std::string large_regex(char first, std::size_t bytes) {
  std::string pattern(1, first);
  for (std::size_t i = 0; pattern.size() * 32 < bytes; ++i) pattern += fmt::format("{:x}", i);
  return pattern;
}

TEST(ConstraintCompiler, WhatIsKeptGivesWayByItsBytes) {
  const auto memory = std::make_shared<ConstraintMemory>(std::size_t{1} << 20);
  ConstraintCompiler compiler(byte_vocabulary(), {}, memory);
  const Constraint* first = compiler.compile({.text = large_regex('a', 300'000)}).value().get();
  for (const char c : {'b', 'c', 'd', 'e'}) {
    ASSERT_TRUE(compiler.compile({.text = large_regex(c, 300'000)}));
    EXPECT_LE(memory->automaton_bytes(), std::size_t{1} << 20);
  }
  EXPECT_GT(memory->automaton_bytes(), std::size_t{1} << 19) << "as many are kept as there is room for";
  (void)first;
}

TEST(ConstraintCompiler, WaitsForTheRoomThatAnswersHoldAndTakesNothingFromThem) {
  const auto memory = std::make_shared<ConstraintMemory>(std::size_t{1} << 20);
  ConstraintCompiler compiler(byte_vocabulary(), {}, memory);
  auto held = compiler.compile({.text = large_regex('a', 700'000)}).value();
  std::stop_source stop;
  std::atomic<bool> is_done = false;
  std::jthread waiting([&] {
    const auto next = compiler.compile({.text = large_regex('b', 700'000)});
    EXPECT_TRUE(next);
    is_done = true;
  });
  std::jthread stopped([&] {
    const auto next = compiler.compile({.text = large_regex('c', 700'000)}, stop.get_token());
    ASSERT_FALSE(next);
    EXPECT_EQ(next.error().kind, ErrorKind::kStopped);
  });
  stop.request_stop();
  stopped.join();
  EXPECT_FALSE(is_done);
  EXPECT_TRUE(takes(held, large_regex('a', 700'000)));
  held = nullptr;  // and the compiler's own gives way
  waiting.join();
  EXPECT_TRUE(is_done);
}

TEST(ConstraintCompiler, AMemoryOfConstraintsIsGivenBackWithThem) {
  const auto memory = std::make_shared<ConstraintMemory>();
  {
    ConstraintCompiler compiler(byte_vocabulary(), {}, memory);
    ASSERT_TRUE(compiler.compile({.kind = ConstraintKind::kJsonObject}));
    EXPECT_GT(memory->automaton_bytes(), 0U);
    EXPECT_GT(memory->mask_bytes(), 0U);
  }
  EXPECT_EQ(memory->automaton_bytes(), 0U);
  EXPECT_EQ(memory->mask_bytes(), 0U);
}

TEST(ConstraintCompiler, RefusesAnAutomatonThatTakesMoreThanItsShare) {
  ConstraintCompiler compiler(byte_vocabulary(), {});
  std::string every_other;
  for (int byte = 0x21; byte < 0x7F; byte += 2) every_other += fmt::format("\\x{:02x}", byte);
  const auto refused = compiler.compile({.text = "(?:[" + every_other + "]{250}){400}"});
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("more than 1048576 transitions"));
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
