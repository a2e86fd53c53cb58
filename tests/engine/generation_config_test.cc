#include "engine/load/generation_config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/test_engine.h"
#include "json/json_limits.h"
#include "support/temp_file.h"
#include "support/tiny_model.h"

namespace octavo {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

std::string refusal_of(std::string_view json) {
  const auto config = parse_generation_config(json, 100);
  return config ? "" : config.error().message;
}

TEST(GenerationConfig, ReadsTheFieldsThatSayHowTokensAreDrawn) {
  const auto config = parse_generation_config(R"({"do_sample": true, "temperature": 0.6, "top_k": 20, "top_p": 0.95,
      "min_p": 0.01, "typical_p": 0.9, "repetition_penalty": 1.05, "eos_token_id": [7, 9], "suppress_tokens": [1, 2],
      "bad_words_ids": [[3], [4, 5]], "transformers_version": "4.51.0", "max_length": 4096})",
                                              100);
  ASSERT_TRUE(config) << config.error().message;
  const SamplingParams params = config->over({.seed = 3});
  EXPECT_EQ(params.temperature, 0.6F);
  EXPECT_EQ(params.top_k, 20);
  EXPECT_EQ(params.top_p, 0.95F);
  EXPECT_EQ(params.min_p, 0.01F);
  EXPECT_EQ(params.typical_p, 0.9F);
  EXPECT_EQ(params.repetition_penalty, 1.05F);
  EXPECT_EQ(params.seed, 3U);
  EXPECT_THAT(params.bad_words, ElementsAre(ElementsAre(3), ElementsAre(4, 5)));
  EXPECT_THAT(config->suppressed, ElementsAre(1, 2));
  EXPECT_THAT(config->end_tokens, ElementsAre(7, 9));
  EXPECT_THAT(config->described(), testing::Contains(Pair("end_tokens", "7 9")));
  EXPECT_THAT(config->described(), testing::Contains(Pair("bad_words", "2 words")));
}

TEST(GenerationConfig, WhatIsAbsentOrNullSaysNothing) {
  const auto config = parse_generation_config(R"({"top_p": null, "eos_token_id": 2, "suppress_tokens": null})", 100);
  ASSERT_TRUE(config);
  EXPECT_FALSE(config->top_p);
  EXPECT_FALSE(config->temperature);
  EXPECT_THAT(config->end_tokens, ElementsAre(2));
  EXPECT_TRUE(config->suppressed.empty());
}

TEST(GenerationConfig, ErrorsNameTheFieldAndWhatWasFound) {
  EXPECT_THAT(refusal_of("{"), HasSubstr("no JSON"));
  EXPECT_THAT(refusal_of("{} x"), HasSubstr("no JSON"));
  EXPECT_THAT(refusal_of("[1]"), HasSubstr("no JSON object"));
  EXPECT_THAT(refusal_of(R"({"temperature": "hot"})"),
              HasSubstr("temperature: found the string \"hot\", expected a number"));
  EXPECT_THAT(refusal_of(R"({"temperature": -1})"), HasSubstr("temperature: found -1"));
  EXPECT_THAT(refusal_of(R"({"top_p": 1.5})"), HasSubstr("top_p: found 1.5"));
  EXPECT_THAT(refusal_of(R"({"top_k": -1})"),
              HasSubstr("top_k: found the number -1, expected an integer from 0 to 2147483647"));
  EXPECT_THAT(refusal_of(R"({"repetition_penalty": 0})"), HasSubstr("repetition_penalty: found 0"));
  EXPECT_THAT(refusal_of(R"({"eos_token_id": [1, 100]})"),
              HasSubstr("eos_token_id[1]: found the number 100, expected a token id from 0 to 99"));
  EXPECT_THAT(refusal_of(R"({"eos_token_id": "x"})"), HasSubstr("eos_token_id: found the string \"x\""));
  EXPECT_THAT(refusal_of(R"({"bad_words_ids": [[1], []]})"), HasSubstr("bad_words_ids[1]: found an array of 0"));
  EXPECT_THAT(refusal_of(R"({"bad_words_ids": [[1, -2]]})"), HasSubstr("bad_words_ids[0][1]: found the number -2"));
  EXPECT_THAT(refusal_of(R"({"bad_words_ids": 3})"), HasSubstr("bad_words_ids: found the number 3"));
}

TEST(GenerationConfig, SizeAndDepthAreBounded) {
  EXPECT_THAT(refusal_of(std::string(kMaxGenerationConfigBytes + 1, ' ')), HasSubstr("expected at most"));
  EXPECT_THAT(refusal_of(std::string(50, '[')), HasSubstr("nested deeper"));
}

// The keys of a table could be made to collide (json_limits.h).
TEST(GenerationConfig, MembersAreBounded) {
  std::string text = R"({"top_k": 3, "all": {"0": 0)";
  for (std::size_t i = 1; i <= JsonLimits().max_members; ++i) text += fmt::format(",\"{}\":0", i);
  EXPECT_THAT(refusal_of(text + "}}"), HasSubstr("found an object of 1025 members, expected at most 1024"));
}

TEST(GenerationConfig, GoesBeforeTheModelsFileAndListsAreJoined) {
  const SamplingDefaults of_file{.temperature = 1.5F, .top_k = 3, .penalty_window = 64, .suppressed = {1}};
  const auto config = parse_generation_config(R"({"temperature": 0.5, "min_p": 0.1, "suppress_tokens": [2]})", 100);
  const SamplingDefaults both = of_file.behind(*config);
  EXPECT_EQ(both.temperature, 0.5F);
  EXPECT_EQ(both.min_p, 0.1F);
  EXPECT_EQ(both.top_k, 3);
  EXPECT_EQ(both.penalty_window, 64);
  EXPECT_THAT(both.suppressed, ElementsAre(1, 2));
}

TEST(GenerationConfig, ItsEndTokensEndAnAnswerAndItsSuppressedTokensAreNotDrawn) {
  const test::TempFile file(test::TinyModel{}.bytes(), ".gguf");
  const auto drawn = [&file](const std::string& config) {
    const auto engine = Engine::load(
        {.model_path = file.path(), .num_threads = 1, .kv_memory_bytes = 1U << 20, .generation_config = config});
    EXPECT_TRUE(engine) << engine.error().message;
    std::vector<TokenId> tokens;
    FinishReason finish = FinishReason::kNone;
    Request request{.tokens = {5, 6, 7}, .max_tokens = 4};
    request.sampling.temperature = 0;
    EXPECT_TRUE((*engine)->submit(std::move(request), [&](const TokenEvent& event) {
      tokens.push_back(event.token);
      finish = event.finish;
    }));
    (*engine)->run();
    return std::pair(tokens, finish);
  };
  const auto [tokens, finish] = drawn("");
  ASSERT_EQ(tokens.size(), 4U);
  EXPECT_EQ(finish, FinishReason::kLength);
  const auto first = std::ranges::find(tokens, tokens[1]) - tokens.begin() + 1;
  const auto ended = drawn(fmt::format(R"({{"eos_token_id": {}}})", tokens[1]));
  EXPECT_EQ(ended.first.size(), static_cast<std::size_t>(first));
  EXPECT_EQ(ended.second, FinishReason::kStop);
  const auto suppressed = drawn(fmt::format(R"({{"suppress_tokens": [{}]}})", tokens[0]));
  EXPECT_NE(suppressed.first[0], tokens[0]);
  const auto wrong = Engine::load({.model_path = file.path(), .generation_config = R"({"top_k": "x"})"});
  ASSERT_FALSE(wrong);
  EXPECT_THAT(wrong.error().message, HasSubstr("generation_config: top_k: found the string \"x\""));
}

}  // namespace
}  // namespace octavo
