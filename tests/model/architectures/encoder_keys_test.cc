// Encoders: what their keys say of rows, positions, windows, pooling and heads, and what is refused.
#include "model/architectures/encoder_keys.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/memory_source.h"

namespace octavo::test {
namespace {

using testing::HasSubstr;

void add_zeros(MemorySource& source, const std::string& name, std::uint64_t cols, std::uint64_t rows) {
  source.add_tensor(name, {cols, rows}, DType::kF32, std::string(cols * rows * 4, '\0'));
}

MemorySource encoder_keys(const std::string& architecture, std::uint32_t layers = 4) {
  MemorySource source;
  const auto key = [&](const char* suffix) { return architecture + "." + suffix; };
  source.add("general.architecture", architecture).add("tokenizer.ggml.token_type_count", 2U);
  source.add(key("block_count"), layers).add(key("embedding_length"), 64U).add(key("context_length"), 512U);
  source.add(key("feed_forward_length"), 96U).add(key("attention.head_count"), 4U);
  source.add(key("attention.layer_norm_epsilon"), 1e-12F).add(key("rope.freq_base"), 1000.0F);
  for (const char* tensor : {"token_embd.weight", "token_types.weight", "a.weight", "b.weight"})
    add_zeros(source, tensor, 64, tensor[6] == 'e' ? 80 : 2);
  return source;
}

std::string error_of(const MemorySource& source) {
  const Result<ModelConfig> config = ModelConfig::load(source);
  return config ? "no error" : config.error().message;
}

TEST(EncoderKeys, RowsOfAnEncoderSeeEachOther) {
  for (const char* arch : {"bert", "jina-bert-v3", "nomic-bert", "modern-bert"}) {
    const ModelConfig config = ModelConfig::load(encoder_keys(arch)).value();
    EXPECT_TRUE(config.is_encoder) << arch;
    EXPECT_EQ(config.norm, NormKind::kLayer);
    for (const LayerSpec& layer : config.layers) EXPECT_FALSE(layer.attention()->is_causal) << arch;
  }
  MemorySource causal = encoder_keys("bert");
  causal.add("bert.attention.causal", true);
  EXPECT_THAT(error_of(causal), HasSubstr("bert.attention.causal is true, expected false of an encoder"));
}

TEST(EncoderKeys, PositionsAreLearnedOrRotated) {
  const ModelConfig bert = ModelConfig::load(encoder_keys("bert")).value();
  EXPECT_EQ(bert.num_positions, 512);
  EXPECT_EQ(bert.layer(0).attention()->rope.num_rotated, 0);
  const ModelConfig jina = ModelConfig::load(encoder_keys("jina-bert-v3")).value();
  EXPECT_EQ(jina.num_positions, 0);
  EXPECT_EQ(jina.layer(0).attention()->rope.num_rotated, 16);
  EXPECT_EQ(jina.layer(0).attention()->rope.base, 1000.0);
}

TEST(EncoderKeys, EverySecondLayerOfNomicsMixtureHasExperts) {
  MemorySource source = encoder_keys("nomic-bert-moe");
  EXPECT_THAT(error_of(source), HasSubstr("'nomic-bert-moe.moe_every_n_layers' is missing"));
  source.add("nomic-bert-moe.moe_every_n_layers", 2U).add("nomic-bert-moe.expert_count", 8U);
  source.add("nomic-bert-moe.expert_used_count", 2U);
  const ModelConfig config = ModelConfig::load(source).value();
  for (int i = 0; i < 4; ++i) {
    const auto* experts = std::get_if<ExpertsFfnSpec>(&config.layer(i).feed_forward);
    ASSERT_EQ(experts != nullptr, i % 2 == 1) << i;
    if (experts == nullptr) continue;
    EXPECT_FALSE(experts->is_gated);
    EXPECT_FALSE(experts->router.sums_to_one);
  }
}

TEST(EncoderKeys, TheFirstOfThreeLayersOfModernBertSeesAll) {
  MemorySource source = encoder_keys("modern-bert");
  source.add("modern-bert.attention.sliding_window", 128U).add("modern-bert.rope.freq_base_swa", 10.0F);
  const ModelConfig config = ModelConfig::load(source).value();
  for (int i = 0; i < 4; ++i) {
    EXPECT_EQ(config.layer(i).attention()->window, i % 3 == 0 ? 0 : 128) << i;
    EXPECT_EQ(config.layer(i).attention()->rope.base, i % 3 == 0 ? 1000.0 : 10.0) << i;
  }
  EXPECT_EQ(config.layer(0).mixer_norm, Presence::kOptional);
  EXPECT_EQ(config.layer(1).mixer_norm, Presence::kRequired);
  source.add("modern-bert.hidden_activation", "relu");
  EXPECT_THAT(error_of(source), HasSubstr("hidden_activation is relu, supported are: gelu, silu"));
}

TEST(EncoderKeys, PoolingAndHeadAreThoseOfTheFile) {
  MemorySource source = encoder_keys("bert");
  EXPECT_FALSE(ModelConfig::load(source).value().pooling);
  source.add("bert.pooling_type", 2U);
  ModelConfig config = ModelConfig::load(source).value();
  EXPECT_EQ(config.pooling, Pooling::kCls);
  EXPECT_EQ(config.head.width, 64);
  EXPECT_EQ(config.head.num_scores, 0);
  add_zeros(source, "cls.output.weight", 64, 3);
  config = ModelConfig::load(source).value();
  EXPECT_EQ(config.head.num_scores, 3);
  EXPECT_EQ(config.head.pooling, Pooling::kCls);
  source.add_array("bert.classifier.output_labels", std::vector<std::string>{});
  EXPECT_TRUE(ModelConfig::load(source).value().head.labels.empty()) << "llama.cpp writes an empty list";
  source.add_array("bert.classifier.output_labels", std::vector<std::string>{"a"});
  EXPECT_THAT(error_of(source), HasSubstr("has 1 names, expected 3"));
  source.add_array("bert.classifier.output_labels", std::vector<std::string>{"a", "b", "c"});
  source.add("bert.pooling_type", 5U);
  EXPECT_THAT(error_of(source), HasSubstr("bert.pooling_type is 5, expected 0 to 4"));
  source.add("bert.pooling_type", 4U).add("bert.classifier.pooling_type", 0U);
  EXPECT_THAT(error_of(source), HasSubstr("bert.classifier.pooling_type is none, expected mean, cls or last"));
}

// llama.cpp's writer gives the key to every model that it saves.
TEST(EncoderKeys, APoolingThatIsUnspecifiedIsNone) {
  constexpr std::uint32_t kUnspecified = 4294967295U;
  MemorySource source = encoder_keys("bert");
  source.add("bert.pooling_type", kUnspecified).add("bert.classifier.pooling_type", kUnspecified);
  add_zeros(source, "cls.output.weight", 64, 3);
  const ModelConfig config = ModelConfig::load(source).value();
  EXPECT_FALSE(config.pooling);
  EXPECT_EQ(config.head.pooling, Pooling::kCls);
  source.add("bert.pooling_type", kUnspecified - 1);
  EXPECT_THAT(error_of(source), HasSubstr("bert.pooling_type is 4294967294, expected 0 to 4"));
}

TEST(EncoderKeys, TokenTypesHaveABound) {
  MemorySource source = encoder_keys("bert");
  EXPECT_EQ(ModelConfig::load(source).value().num_token_types, 2);
  source.add("tokenizer.ggml.token_type_count", 17U);
  EXPECT_THAT(error_of(source), HasSubstr("tokenizer.ggml.token_type_count is 17, expected 1 to 16"));
}

}  // namespace
}  // namespace octavo::test
