// How tokens are drawn, as a request says it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fmt/format.h>

#include "api/openai_bodies.h"

namespace octavo {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;

TEST_F(OpenAiRequest, SamplingDefaultsAreTheModelsOwn) {
  const SamplingParams sampling = request("").sampling;
  EXPECT_EQ(sampling.temperature, 0.5F);
  EXPECT_EQ(sampling.top_k, 7);
  EXPECT_EQ(sampling.top_p, 1);
  EXPECT_EQ(request(R"("temperature": null)").sampling.temperature, 0.5F);
}

TEST_F(OpenAiRequest, ReadsEverySamplingField) {
  const Request found = request(
      R"("temperature": 0, "top_p": 0.9, "top_k": 5, "min_p": 0.1, "seed": 42, "repetition_penalty": 1.5,
         "frequency_penalty": -2, "presence_penalty": 2, "logit_bias": {"5": -100, "6": 1.5}, "n": 3, "min_tokens": 2,
         "ignore_eos": true, "stop": ["x", "yz"], "stop_token_ids": [8, 9], "deadline_s": 2.5)");
  EXPECT_EQ(found.sampling.temperature, 0);
  EXPECT_EQ(found.sampling.top_p, 0.9F);
  EXPECT_EQ(found.sampling.top_k, 5);
  EXPECT_EQ(found.sampling.min_p, 0.1F);
  EXPECT_EQ(found.sampling.seed, 42);
  EXPECT_EQ(found.sampling.repetition_penalty, 1.5F);
  EXPECT_EQ(found.sampling.frequency_penalty, -2);
  EXPECT_EQ(found.sampling.presence_penalty, 2);
  EXPECT_THAT(found.sampling.logit_bias, ElementsAre(Pair(5, -100), Pair(6, 1.5F)));
  EXPECT_EQ(found.num_choices, 3);
  EXPECT_EQ(found.min_tokens, 2);
  EXPECT_TRUE(found.ignore_eos);
  EXPECT_THAT(found.stop, ElementsAre("x", "yz"));
  EXPECT_THAT(found.stop_tokens, ElementsAre(8, 9));
  EXPECT_EQ(found.deadline_s, 2.5);
}

TEST_F(OpenAiRequest, ReadsEverySamplerByItsNameInLlamaCpp) {
  const SamplingParams found =
      request(
          R"("typical_p": 0.5, "top_n_sigma": 1.5, "xtc_probability": 0.25, "xtc_threshold": 0.125, "dynatemp_range": 0.5,
         "dynatemp_exponent": 2, "repeat_last_n": 64, "dry_multiplier": 0.75, "dry_base": 2, "dry_allowed_length": 3,
         "dry_penalty_last_n": 128, "dry_sequence_breakers": ["a", "bc"], "mirostat": 2, "mirostat_tau": 4,
         "mirostat_eta": 0.25, "samplers": ["dry", "top_k", "temperature"])")
          .sampling;
  EXPECT_EQ(found.typical_p, 0.5F);
  EXPECT_EQ(found.top_n_sigma, 1.5F);
  EXPECT_EQ(found.xtc.probability, 0.25F);
  EXPECT_EQ(found.xtc.threshold, 0.125F);
  EXPECT_EQ(found.dynamic_temperature.range, 0.5F);
  EXPECT_EQ(found.dynamic_temperature.exponent, 2);
  EXPECT_EQ(found.penalty_window, 64);
  EXPECT_EQ(found.dry.multiplier, 0.75F);
  EXPECT_EQ(found.dry.base, 2);
  EXPECT_EQ(found.dry.allowed_length, 3);
  EXPECT_EQ(found.dry.window, 128);
  EXPECT_THAT(found.dry.breakers, ElementsAre("a", "bc"));
  EXPECT_EQ(found.mirostat.version, 2);
  EXPECT_EQ(request(R"("mirostat": 1)").sampling.mirostat.version, 1);
  EXPECT_EQ(request(R"("mirostat_mode": 2)").sampling.mirostat.version, 2);
  EXPECT_EQ(found.mirostat.tau, 4);
  EXPECT_EQ(found.mirostat.eta, 0.25F);
  EXPECT_THAT(found.order, ElementsAre(SamplerStep::kTopK, SamplerStep::kTemperature));
}

TEST_F(OpenAiRequest, LlamaCppsMinusOneIsAllTokensAndZeroNone) {
  const SamplingParams all = request(R"("repeat_penalty": 1.5, "repeat_last_n": -1, "dry_multiplier": 1,
                                        "dry_penalty_last_n": -1, "top_n_sigma": -1)")
                                 .sampling;
  EXPECT_EQ(all.repetition_penalty, 1.5F);
  EXPECT_EQ(all.penalty_window, 0);
  EXPECT_EQ(all.dry.multiplier, 1);
  EXPECT_EQ(all.dry.window, 0);
  EXPECT_EQ(all.top_n_sigma, 0);
  const SamplingParams none =
      request(R"("repeat_penalty": 1.5, "presence_penalty": 1, "repeat_last_n": 0, "dry_multiplier": 1,
                 "dry_penalty_last_n": 0)")
          .sampling;
  EXPECT_EQ(none.repetition_penalty, 1);
  EXPECT_EQ(none.presence_penalty, 0);
  EXPECT_EQ(none.dry.multiplier, 0);
}

TEST_F(OpenAiRequest, WordsAndTokensThatMayBeDrawnAreVllms) {
  const SamplingParams found = request(R"("allowed_token_ids": [1, 2], "bad_words": ["ab"])").sampling;
  EXPECT_THAT(found.allowed_tokens, ElementsAre(1, 2));
  ASSERT_EQ(found.bad_words.size(), 2) << "at the beginning, and behind a space";
  EXPECT_EQ(found.bad_words[0], *words_.tokenize("ab", {.add_special = false, .parse_special = false}));
  EXPECT_EQ(found.bad_words[1], *words_.tokenize(" ab", {.add_special = false, .parse_special = false}));
}

TEST_F(OpenAiRequest, SamplersOutOfRangeAreRefusedByName) {
  for (const auto& [field, param] : std::vector<std::pair<std::string, std::string>>{
           {R"("typical_p": 1.5)", "typical_p"},
           {R"("top_n_sigma": -2)", "top_n_sigma"},
           {R"("xtc_probability": 2)", "xtc_probability"},
           {R"("dynatemp_range": 101)", "dynatemp_range"},
           {R"("dry_base": 0)", "dry_base"},
           {R"("dry_sequence_breakers": ["a", ""])", "dry_sequence_breakers[1]"},
           {R"("dry_sequence_breakers": "a")", "dry_sequence_breakers"},
           {R"("mirostat": 3)", "mirostat"},
           {R"("samplers": ["top_q"])", "samplers"},
           {R"("samplers": "top_k;top_k")", "samplers"},
           {R"("allowed_token_ids": [])", "allowed_token_ids"},
           {R"("allowed_token_ids": [-1])", "allowed_token_ids[0]"},
           {R"("bad_words": "x")", "bad_words"},
           {R"("bad_words": [""])", "bad_words[0]"}}) {
    EXPECT_EQ(completion_error(field).param, param) << field;
  }
}

TEST_F(OpenAiRequest, AcceptsTheOtherNamesThatClientsSend) {
  EXPECT_EQ(request(R"("repeat_penalty": 1.25)").sampling.repetition_penalty, 1.25F);
  EXPECT_EQ(request(R"("repeat_penalty": 1.25, "repetition_penalty": 1.25)").sampling.repetition_penalty, 1.25F);
  EXPECT_EQ(completion_error(R"("repeat_penalty": 1.25, "repetition_penalty": 1.5)").param, "repeat_penalty");
  EXPECT_EQ(request(R"("top_k": -1)").sampling.top_k, 0);
  EXPECT_EQ(request(R"("top_k": 5.0)").sampling.top_k, 5);
  EXPECT_THAT(request(R"("stop": "x")").stop, ElementsAre("x"));
}

// vLLM's clients, who invented the field, send the lower number for what is to go earlier.
TEST_F(OpenAiRequest, TheLowerThePriorityTheEarlier) {
  EXPECT_EQ(request(R"("priority": 5)").priority, -5);
  EXPECT_EQ(request(R"("priority": -5)").priority, 5);
  EXPECT_EQ(request("").priority, 0);
}

TEST_F(OpenAiRequest, APriorityBeyondTheServersLimitIsRefusedWithTheLimit) {
  EXPECT_THAT(completion_error(R"("priority": -6)").message,
              HasSubstr("priority: found the number -6, expected an integer from -5 to 1000"));
  const auto object = boost::json::parse(R"({"prompt": "ab", "priority": -1})").as_object();
  const auto call = parse_completion(object, words_, {.id = "text"});
  ASSERT_FALSE(call) << "by default clients can only step back";
  EXPECT_THAT(call.error().message, HasSubstr("priority: found the number -1, expected an integer from 0 to 1000"));
}

TEST_F(OpenAiRequest, AnySixtyFourBitIntegerIsASeedAndNoneIsRandom) {
  EXPECT_EQ(request(R"("seed": -2)").sampling.seed, ~std::uint64_t{1});
  EXPECT_NE(request(R"("seed": -1)").sampling.seed, request(R"("seed": -1)").sampling.seed) << "-1 is a random one";
  const auto several = completion(R"("prompt": ["a", "a"], "seed": -1)");
  EXPECT_NE(several->requests[0].sampling.seed, several->requests[1].sampling.seed);
  EXPECT_EQ(request(R"("seed": 18446744073709551615)").sampling.seed, ~std::uint64_t{0});
  EXPECT_NE(request("").sampling.seed, request("").sampling.seed);
  EXPECT_EQ(completion_error(R"("seed": 1.5)").param, "seed");
}

TEST_F(OpenAiRequest, TheServersSeedCountsWhereARequestNamesNone) {
  ServedModel model = kAskedModel;
  model.policy.seed = 7;
  const auto seeds = [&](const std::string& fields) {
    const auto call =
        parse_completion(boost::json::parse(R"({"prompt": ["a", "a"])" + fields + "}").as_object(), words_, model);
    EXPECT_TRUE(call.has_value()) << call.error().message;
    return std::pair(call->requests.at(0).sampling.seed, call->requests.at(1).sampling.seed);
  };
  EXPECT_EQ(seeds(""), std::pair(std::uint64_t{7}, std::uint64_t{7}));
  EXPECT_EQ(seeds(R"(, "seed": null)"), std::pair(std::uint64_t{7}, std::uint64_t{7}));
  EXPECT_EQ(seeds(R"(, "seed": 8)"), std::pair(std::uint64_t{8}, std::uint64_t{8}));
  const auto random = seeds(R"(, "seed": -1)");
  EXPECT_NE(random.first, random.second);
}

TEST_F(OpenAiRequest, EqualPromptsHaveSeedsOfTheirOwnUnlessOneIsGiven) {
  const auto drawn = completion(R"("prompt": ["a", "a"])");
  EXPECT_NE(drawn->requests[0].sampling.seed, drawn->requests[1].sampling.seed);
  const auto given = completion(R"("prompt": ["a", "a"], "seed": 3)");
  EXPECT_EQ(given->requests[0].sampling.seed, 3);
  EXPECT_EQ(given->requests[1].sampling.seed, 3);
}

}  // namespace
}  // namespace octavo
