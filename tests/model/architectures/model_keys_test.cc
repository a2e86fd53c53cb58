#include "model/architectures/model_keys.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "model/architectures/family_keys.h"
#include "support/tiny_model.h"

namespace octavo::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

std::string message_of(const auto& result) { return result ? "no error" : result.error().message; }

TEST(ModelKeys, KeysAreNamedWithTheirArchitecture) {
  MemorySource source;
  source.add("llama.width", 7U).add("other.depth", 8U);
  const ModelKeys keys(source, "llama");
  EXPECT_EQ(keys.key("width"), "llama.width");
  EXPECT_TRUE(keys.has("width"));
  EXPECT_FALSE(keys.has("depth"));
  EXPECT_EQ(keys.path(), source.name());
}

TEST(ModelKeys, SizesAreFromOneToTheLargest) {
  MemorySource source;
  source.add("a.least", 1U).add("a.most", std::uint64_t{kMaxModelSize}).add("a.zero", 0U).add("a.text", "7");
  source.add("a.more", std::uint64_t{kMaxModelSize} + 1).add("a.negative", -1).add("a.signed", std::int64_t{5});
  const ModelKeys keys(source, "a");
  EXPECT_EQ(*keys.size("least"), 1);
  EXPECT_EQ(*keys.size("most"), kMaxModelSize);
  EXPECT_EQ(*keys.size("signed"), 5);
  EXPECT_THAT(message_of(keys.size("zero")), HasSubstr("a.zero is 0, expected 1 to 16777216"));
  EXPECT_THAT(message_of(keys.size("more")), HasSubstr("a.more is 16777217, expected 1 to 16777216"));
  EXPECT_THAT(message_of(keys.size("negative")), HasSubstr("'a.negative' is int32 -1"));
  EXPECT_THAT(message_of(keys.size("text")), HasSubstr("'a.text' is string '7', expected an integer"));
  EXPECT_THAT(message_of(keys.size("none")), HasSubstr("'a.none' is missing"));
}

TEST(ModelKeys, ASizeStandsForAllLayersOrThereIsOneForEach) {
  MemorySource source;
  source.add("a.one", 7U).add("a.zero", 0U).add_array("a.each", std::vector<std::int32_t>{1, 2, kMaxModelSize});
  source.add_array("a.more", std::vector<std::int32_t>{1, kMaxModelSize + 1, 1});
  source.add_array("a.texts", std::vector<std::string>{"1", "2", "3"});
  const ModelKeys keys(source, "a");
  EXPECT_EQ(*keys.sizes("one", 3), std::vector<int>(3, 7));
  EXPECT_EQ(*keys.sizes("each", 3), (std::vector<int>{1, 2, kMaxModelSize}));
  EXPECT_THAT(message_of(keys.sizes("each", 2)), HasSubstr("a.each has 3 numbers, expected one for each of the 2"));
  EXPECT_THAT(message_of(keys.sizes("more", 3)), HasSubstr("a.more is 16777217 for layer 1, expected 1 to 16777216"));
  EXPECT_THAT(message_of(keys.sizes("texts", 3)), HasSubstr("'a.texts' is string '1', expected an integer"));
  EXPECT_THAT(message_of(keys.sizes("zero", 3)), HasSubstr("a.zero is 0, expected 1 to 16777216"));
  EXPECT_THAT(message_of(keys.sizes("none", 3)), HasSubstr("'a.none' is missing"));
}

// Arrays may be as long as the file has layers, those of prediction behind the model's included.
TEST(ModelKeys, LayersOfPredictionAreCountedAndLeftOut) {
  for (const char* architecture : {"glm4", "exaone4", "llama", "qwen3"}) {
    SCOPED_TRACE(architecture);
    MemorySource source = family_keys(architecture, 5);
    const auto key = [&](const char* suffix) { return architecture + std::string(".") + suffix; };
    source.add(key("rope.freq_base"), 1e4F).add(key("nextn_predict_layers"), 2U);
    source.add(key("attention.sliding_window"), 9U);
    source.add_array(key("attention.sliding_window_pattern"), std::vector<bool>{true, false, true, false, false});
    const ModelConfig config = ModelConfig::load(source).value();
    EXPECT_EQ(config.num_layers(), 3);
    EXPECT_EQ(config.num_skipped_layers, 2);
    EXPECT_FALSE(config.prediction_layer) << "no family but qwen35 drafts with them";
    if (std::string_view(architecture) == "exaone4") {
      EXPECT_EQ(config.layer(2).attention()->window, 9);
    }
    source.add(key("nextn_predict_layers"), 5U);
    EXPECT_THAT(error_of(source), HasSubstr("nextn_predict_layers is 5, expected less than"));
  }
}

TEST(ModelKeys, AFlagIsABoolOrAnIntegerOfOneBit) {
  MemorySource source;
  source.add("a.one", 1U).add("a.none", std::int64_t{0}).add("a.bool", true).add("a.two", 2U).add("a.float", 1.0F);
  source.add_array("a.bools", std::vector<bool>{true, false, true});
  source.add_array("a.unsigned", std::vector<std::uint32_t>{1, 0, 1}).add("a.negative", -1);
  source.add_array("a.signed", std::vector<std::int32_t>{1, 0, 1}).add_array("a.more", std::vector{1, -1, 1});
  source.add_array("a.wide", std::vector<std::uint64_t>{0, 0, std::uint64_t{1} << 32});
  source.add_array("a.texts", std::vector<std::string>{"1", "0", "1"}).add("a.text", "1");
  const ModelKeys keys(source, "a");
  for (const char* key : {"bools", "unsigned", "signed"})
    EXPECT_EQ(*keys.flags(key, 3), (std::vector<bool>{true, false, true})) << key;
  for (const char* key : {"one", "bool"}) EXPECT_EQ(*keys.flags(key, 3), std::vector<bool>(3, true)) << key;
  EXPECT_EQ(*keys.flags("none", 3), std::vector<bool>(3, false));
  EXPECT_THAT(message_of(keys.flags("bools", 2)),
              HasSubstr("a.bools has 3 flags, expected one for each of the 2 layers"));
  EXPECT_THAT(message_of(keys.flags("more", 3)), HasSubstr("a.more is int32 -1 for layer 1, expected 0 or 1"));
  EXPECT_THAT(message_of(keys.flags("wide", 3)), HasSubstr("a.wide is uint64 4294967296 for layer 2, expected 0 or 1"));
  EXPECT_THAT(message_of(keys.flags("texts", 3)), HasSubstr("a.texts is string '1' for layer 0, expected 0 or 1"));
  for (const char* key : {"two", "float", "negative", "text", "missing"})
    EXPECT_THAT(message_of(keys.flags(key, 3)), HasSubstr("expected 0 or 1 for all layers or for each of them")) << key;
}

TEST(ModelKeys, APatternOfWindowsIsAFlagForEachLayerOrTheDistanceOfThoseWithout) {
  MemorySource source;
  const auto pattern = [&](std::optional<int> every) { return read_window_pattern(ModelKeys(source, "a"), every, 4); };
  EXPECT_EQ(*pattern(3), (std::vector<bool>{true, true, false, true}));
  EXPECT_THAT(message_of(pattern({})), HasSubstr("'a.attention.sliding_window_pattern' is missing"));
  for (const std::uint32_t every : {0U, 1U, 2U, 9U}) {
    source.add("a.attention.sliding_window_pattern", every);
    const std::vector<bool> expected = every == 1   ? std::vector<bool>(4, false)
                                       : every == 2 ? std::vector<bool>{true, false, true, false}
                                                    : std::vector<bool>(4, true);
    EXPECT_EQ(*pattern(3), expected) << every;
  }
  source.add_array("a.attention.sliding_window_pattern", std::vector<std::uint32_t>{0, 1, 1, 0});
  EXPECT_EQ(*pattern(3), (std::vector<bool>{false, true, true, false}));
  source.add_array("a.attention.sliding_window_pattern", std::vector<bool>{true});
  EXPECT_THAT(message_of(pattern(3)), HasSubstr("has 1 flags, expected one for each of the 4 layers"));
  source.add("a.attention.sliding_window_pattern", true);
  EXPECT_THAT(message_of(pattern(3)), HasSubstr("is bool true, expected an integer"));
}

TEST(ModelKeys, CountsMayBeZero) {
  MemorySource source;
  source.add("a.zero", 0U).add("a.most", 9U).add("a.text", "7");
  const ModelKeys keys(source, "a");
  EXPECT_EQ(*keys.count("zero"), 0);
  EXPECT_EQ(*keys.count("most", 9), 9);
  EXPECT_THAT(message_of(keys.count("most", 8)), HasSubstr("a.most is 9, expected 0 to 8"));
  EXPECT_THAT(message_of(keys.count("text")), HasSubstr("'a.text' is string '7', expected an integer"));
}

TEST(ModelKeys, ADefaultStandsForAMissingKeyAndForNothingElse) {
  MemorySource source;
  source.add("a.zero", 0U).add("a.size", 9U).add("a.rate", 0.5F).add("a.bad", -0.5F);
  const ModelKeys keys(source, "a");
  EXPECT_EQ(*keys.size_or("none", 3), 3);
  EXPECT_EQ(*keys.size_or("size", 3), 9);
  EXPECT_THAT(message_of(keys.size_or("zero", 3)), HasSubstr("a.zero is 0"));
  EXPECT_EQ(*keys.positive_or("none", 2.5), 2.5);
  EXPECT_EQ(*keys.positive_or("rate", 2.5), 0.5);
  EXPECT_THAT(message_of(keys.positive_or("bad", 2.5)), HasSubstr("a.bad is -0.5"));
}

TEST(ModelKeys, PositiveNumbersAreFinite) {
  MemorySource source;
  source.add("a.good", 1e-5).add("a.zero", 0.0F).add("a.integer", 1U);
  source.add("a.infinite", std::numeric_limits<float>::infinity());
  source.add("a.nan", std::numeric_limits<float>::quiet_NaN());
  const ModelKeys keys(source, "a");
  EXPECT_EQ(*keys.positive("good"), static_cast<double>(1e-5F));
  for (const char* key : {"zero", "infinite", "nan"})
    EXPECT_THAT(message_of(keys.positive(key)), AllOf(HasSubstr(key), HasSubstr("expected a positive number")));
  EXPECT_THAT(message_of(keys.positive("integer")), HasSubstr("'a.integer' is uint32 1, expected a float"));
}

TEST(ModelKeys, MathematicsThatNobodyReadMustChangeNothing) {
  MemorySource source;
  source.add("a.logit_scale", 2.0F);
  const ModelKeys unread(source, "a");
  EXPECT_THAT(message_of(unread.refuse_unread_mathematics()),
              HasSubstr("a.logit_scale is 2, expected 1: this is not supported"));
  const ModelKeys read(source, "a");
  EXPECT_TRUE(read.has("logit_scale"));
  EXPECT_EQ(message_of(read.refuse_unread_mathematics()), "no error");

  MemorySource neutral;
  neutral.add("a.logit_scale", 1.0F).add("a.final_logit_softcapping", 0.0F).add("a.expert_count", 0U);
  EXPECT_EQ(message_of(ModelKeys(neutral, "a").refuse_unread_mathematics()), "no error");
  neutral.add("a.expert_count", 8U);
  EXPECT_THAT(message_of(ModelKeys(neutral, "a").refuse_unread_mathematics()), HasSubstr("a.expert_count is 8"));
}

TEST(ModelKeys, ActivationsThatAHadamardTransformRotatesAreRefused) {
  MemorySource source = family_keys("llama");
  source.add("prism.hadamard.version", 1U);
  EXPECT_THAT(error_of(source),
              AllOf(HasSubstr("key 'prism.hadamard.version' is uint32 1"), HasSubstr("not supported")));
}

TEST(ModelKeys, NumbersBesideMatricesOfFeedForwardsMultiplyWhereLlamaCppDoes) {
  for (const std::string architecture :
       {"llama", "qwen3", "cohere2", "command-r", "exaone4", "glm4", "phi3", "seed_oss", "olmo2", "hunyuan-dense",
        "ernie4_5", "smollm3", "stablelm", "qwen2", "qwen3vl"}) {
    const bool multiply = architecture == "llama" || architecture == "qwen3" || architecture == "cohere2";
    MemorySource source = family_keys(architecture);
    source.add(architecture + ".rope.freq_base", 1e4F).add(architecture + ".attention.layer_norm_epsilon", 1e-5F);
    source.add(architecture + ".attention.sliding_window", 9U).add(architecture + ".rope.dimension_count", 16U);
    if (architecture.starts_with("co")) source.add(architecture + ".logit_scale", 0.5F);
    const ModelConfig config = ModelConfig::load(source).value();
    EXPECT_EQ(std::get<DenseFfnSpec>(config.layer(1).feed_forward).has_factors, multiply) << architecture;
  }
}

TEST(ModelKeys, HeadsThatDoNotFitTheWidthAreRefused) {
  MemorySource source = family_keys("llama");
  source.add("llama.attention.head_count", 6U);
  EXPECT_THAT(error_of(source), HasSubstr("llama.embedding_length (64) is not a multiple of the 6 heads"));
  source.add("llama.attention.key_length", 16U);
  EXPECT_EQ(error_of(source), "no error");
  source.add("llama.attention.head_count_kv", 4U);
  EXPECT_THAT(error_of(source), HasSubstr("llama.attention.head_count is 6, not a multiple of"));
}

TEST(ModelKeys, EveryHeadHasKeysOfItsOwnUnlessTheFileSaysOtherwise) {
  const MemorySource source = TinyModel{.without = {"llama.attention.head_count_kv"}}.source();
  EXPECT_EQ(ModelConfig::load(source).value().layer(0).attention()->num_kv_heads, 4);
}

}  // namespace
}  // namespace octavo::test
