#include "engine/text/sampling_defaults.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>

#include "source/open_model.h"
#include "support/gguf_writer.h"
#include "support/temp_file.h"

namespace octavo {
namespace {

using test::GgufWriter;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;

Result<SamplingDefaults> read(const GgufWriter& writer) {
  const test::TempFile file(writer.bytes());
  OCTAVO_TRY(const auto source, open_model(file.path()));
  return SamplingDefaults::read(*source);
}

TEST(SamplingDefaults, FileWithoutThemChangesNothing) {
  const auto defaults = read(GgufWriter().add("general.architecture", "llama"));
  ASSERT_TRUE(defaults) << defaults.error().message;
  const SamplingParams params = defaults->over({.temperature = 0.7F, .top_k = 3, .top_p = 0.5F, .min_p = 0.25F});
  EXPECT_EQ(params.temperature, 0.7F);
  EXPECT_EQ(params.top_k, 3);
  EXPECT_EQ(params.top_p, 0.5F);
  EXPECT_EQ(params.min_p, 0.25F);
}

TEST(SamplingDefaults, ReadsTheKeysThatLlamaCppWrites) {
  const auto defaults = read(GgufWriter()
                                 .add("general.sampling.temp", 0.6F)
                                 .add("general.sampling.top_k", std::int32_t{20})
                                 .add("general.sampling.top_p", 0.95F)
                                 .add("general.sampling.min_p", 0.01F));
  ASSERT_TRUE(defaults) << defaults.error().message;
  const SamplingParams params = defaults->over({.seed = 9});
  EXPECT_EQ(params.temperature, 0.6F);
  EXPECT_EQ(params.top_k, 20);
  EXPECT_EQ(params.top_p, 0.95F);
  EXPECT_EQ(params.min_p, 0.01F);
  EXPECT_EQ(params.seed, 9U);
}

TEST(SamplingDefaults, ReadsTheOtherSamplersToo) {
  const auto defaults = read(GgufWriter()
                                 .add("general.sampling.sequence", "penalties;top_k;temperature")
                                 .add("general.sampling.xtc_probability", 0.25F)
                                 .add("general.sampling.xtc_threshold", 0.125F)
                                 .add("general.sampling.penalty_last_n", std::int32_t{64})
                                 .add("general.sampling.penalty_repeat", 1.5F)
                                 .add("general.sampling.mirostat", std::int32_t{2})
                                 .add("general.sampling.mirostat_tau", 4.0F)
                                 .add("general.sampling.mirostat_eta", 0.25F));
  ASSERT_TRUE(defaults) << defaults.error().message;
  const SamplingParams params = defaults->over({});
  EXPECT_THAT(params.order, ElementsAre(SamplerStep::kTopK, SamplerStep::kTemperature));
  EXPECT_EQ(params.xtc.probability, 0.25F);
  EXPECT_EQ(params.xtc.threshold, 0.125F);
  EXPECT_EQ(params.penalty_window, 64);
  EXPECT_EQ(params.repetition_penalty, 1.5F);
  EXPECT_EQ(params.mirostat.version, 2);
  EXPECT_EQ(params.mirostat.tau, 4);
  EXPECT_EQ(params.mirostat.eta, 0.25F);
  EXPECT_THAT(defaults->described(), Contains(Pair("order", "top_k;temperature")));
}

TEST(SamplingDefaults, APenaltyOfNoTokensIsNone) {
  const auto defaults = read(GgufWriter()
                                 .add("general.sampling.penalty_repeat", 1.5F)
                                 .add("general.sampling.penalty_last_n", std::int32_t{0}));
  ASSERT_TRUE(defaults) << defaults.error().message;
  EXPECT_EQ(defaults->over({}).repetition_penalty, 1);
}

TEST(SamplingDefaults, SuppressedTokensAreRead) {
  const auto defaults = read(GgufWriter().add_array("tokenizer.ggml.suppress_tokens", std::vector<std::int32_t>{3, 7}));
  ASSERT_TRUE(defaults) << defaults.error().message;
  EXPECT_THAT(defaults->suppressed, ElementsAre(3, 7));
}

TEST(SamplingDefaults, BadWordsAreOneBehindAnother) {
  const auto words = [](const std::vector<std::int32_t>& ids) {
    return read(GgufWriter().add_array("general.sampling.bad_words_ids", ids));
  };
  const auto defaults = words({5, -1, 3, 7, -1});
  ASSERT_TRUE(defaults) << defaults.error().message;
  EXPECT_THAT(defaults->bad_words, ElementsAre(ElementsAre(5), ElementsAre(3, 7)));
  EXPECT_EQ(defaults->over({}).bad_words, defaults->bad_words);
  for (const std::vector<std::int32_t>& wrong : {std::vector{5, -2}, {-1}, {5, -1, -1}})
    EXPECT_THAT(words(wrong).error().message,
                AllOf(HasSubstr("general.sampling.bad_words_ids"), HasSubstr("expected ids")));
  EXPECT_THAT(words({5, -1, 3}).error().message, HasSubstr("found 1 ids at the end, expected a -1"));
  std::vector<std::int32_t> many;
  for (std::size_t i = 0; i < kMaxBadWords; ++i) many.insert(many.end(), {1, -1});
  EXPECT_TRUE(words(many));
  many.insert(many.end(), {1, -1});
  EXPECT_FALSE(words(many));
}

TEST(SamplingDefaults, NegativeTopKKeepsAllTokens) {
  const auto defaults = read(GgufWriter().add("general.sampling.top_k", std::int32_t{-1}));
  ASSERT_TRUE(defaults) << defaults.error().message;
  EXPECT_EQ(defaults->top_k, 0);
}

TEST(SamplingDefaults, ValueOutOfRangeOrOfAnotherTypeIsAnErrorThatNamesTheKey) {
  const auto message = [](const GgufWriter& writer) {
    const auto defaults = read(writer);
    return defaults ? std::string("accepted") : defaults.error().message;
  };
  EXPECT_THAT(message(GgufWriter().add("general.sampling.temp", -1.0F)),
              AllOf(HasSubstr("general.sampling"), HasSubstr("temperature"), HasSubstr("-1")));
  EXPECT_THAT(message(GgufWriter().add("general.sampling.mirostat", std::int32_t{3})),
              AllOf(HasSubstr("general.sampling.mirostat"), HasSubstr("found 3"), HasSubstr("2")));
  EXPECT_THAT(message(GgufWriter().add("general.sampling.sequence", "top_k;top_q")),
              AllOf(HasSubstr("general.sampling.sequence"), HasSubstr("top_q")));
  EXPECT_THAT(message(GgufWriter().add("general.sampling.top_p", "high")), HasSubstr("general.sampling.top_p"));
  EXPECT_THAT(message(GgufWriter().add("general.sampling.top_k", std::uint64_t{1} << 40)),
              HasSubstr("general.sampling.top_k"));
}

}  // namespace
}  // namespace octavo
