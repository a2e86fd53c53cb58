#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/architectures/family_keys.h"

namespace octavo::test {
namespace {

using testing::HasSubstr;

/// Every third layer sees all; heads of 16 dimensions with a window, of 32 without.
MemorySource keys_of_layers(const std::string& architecture, std::uint32_t layers) {
  MemorySource source = family_keys(architecture, layers);
  const auto key = [&](const char* suffix) { return architecture + "." + suffix; };
  std::vector<bool> windowed(layers);
  for (std::uint32_t i = 0; i < layers; ++i) windowed[i] = i % 3 != 2;
  source.add(key("attention.sliding_window"), 24U).add_array(key("attention.sliding_window_pattern"), windowed);
  source.add(key("attention.key_length"), 32U).add(key("attention.value_length"), 32U);
  source.add(key("attention.key_length_swa"), 16U).add(key("attention.value_length_swa"), 16U);
  source.add(key("rope.freq_base"), 1e6F);
  return source;
}

/// Without embeddings of layers.
MemorySource gemma4_keys(std::uint32_t layers) {
  MemorySource source = keys_of_layers("gemma4", layers);
  source.add("gemma4.embedding_length_per_layer_input", 0U);
  return source;
}

/// Of a model whose rows are 256 wide.
MemorySource assistant_keys(std::uint32_t layers) {
  MemorySource source = keys_of_layers("gemma4-assistant", layers);
  source.add("gemma4-assistant.embedding_length_out", 256U);
  return source;
}

bool is_global(int layer) { return layer % 3 == 2; }

TEST(Gemma4, TheFileSaysWhichLayersHaveAWindow) {
  MemorySource source = gemma4_keys(4);
  source.add_array("gemma4.attention.sliding_window_pattern", std::vector<bool>{false, true, true, false});
  const ModelConfig config = ModelConfig::load(source).value();
  for (int i = 0; i < 4; ++i) EXPECT_EQ(config.layer(i).attention()->window, i == 1 || i == 2 ? 24 : 0) << i;
  source.add("gemma4.attention.sliding_window_pattern", 2U);
  const ModelConfig every_second = ModelConfig::load(source).value();
  for (int i = 0; i < 4; ++i) EXPECT_EQ(every_second.layer(i).attention()->window, i % 2 == 0 ? 24 : 0) << i;
}

TEST(Gemma4, BothKindsOfLayersHaveHeadsOfTheirOwn) {
  MemorySource source = gemma4_keys(6);
  source.add_array("gemma4.attention.head_count_kv", std::vector<std::int32_t>{2, 2, 1, 2, 2, 1});
  const ModelConfig config = ModelConfig::load(source).value();
  for (int i = 0; i < 6; ++i) {
    const AttentionSpec& attention = *config.layer(i).attention();
    EXPECT_EQ(attention.num_heads, 4) << i;
    EXPECT_EQ(attention.num_kv_heads, is_global(i) ? 1 : 2) << i;
    EXPECT_EQ(attention.head_dim, is_global(i) ? 32 : 16) << i;
  }
}

TEST(Gemma4, HeadsAreNormedAndScoresAreNotScaled) {
  const ModelConfig config = ModelConfig::load(gemma4_keys(3)).value();
  for (const LayerSpec& layer : config.layers) {
    EXPECT_EQ(layer.attention()->qk_norm, Presence::kRequired);
    EXPECT_TRUE(layer.attention()->v_norm);
    EXPECT_EQ(layer.attention()->scale, 1.0F);
    EXPECT_TRUE(layer.post_norms);
    EXPECT_TRUE(layer.output_scale);
    EXPECT_EQ(std::get<DenseFfnSpec>(layer.feed_forward).activation, Activation::kGeluTanh);
  }
  EXPECT_EQ(config.embedding_scale, 8.0F);  // the root of the width
}

TEST(Gemma4, LayersThatSeeAllTurnByFactorsAndTheOthersWithout) {
  MemorySource source = gemma4_keys(3);
  source.add("gemma4.rope.dimension_count", 32U).add("gemma4.rope.dimension_count_swa", 8U);
  for (const double local : {10000.0, 77.0}) {
    if (local == 77.0) source.add("gemma4.rope.freq_base_swa", 77.0F);
    const ModelConfig config = ModelConfig::load(source).value();
    for (int i = 0; i < 3; ++i) {
      const RopeSpec& rope = config.layer(i).attention()->rope;
      EXPECT_EQ(rope.layout, RopeLayout::kHalves);
      EXPECT_EQ(rope.base, is_global(i) ? 1e6 : local) << i;
      EXPECT_EQ(rope.num_rotated, is_global(i) ? 32 : 8) << i;
      EXPECT_EQ(rope.factors, is_global(i) ? Presence::kRequired : Presence::kAbsent) << i;
    }
  }
  source.add("gemma4.rope.dimension_count_swa", 18U);
  EXPECT_THAT(error_of(source),
              HasSubstr("gemma4.rope.dimension_count_swa is 18, expected an even number up to the 16"));
}

TEST(Gemma4, ExpertsStandBesideTheDenseFeedForwardWithNormsOfTheirOwn) {
  MemorySource source = gemma4_keys(3);
  source.add("gemma4.expert_count", 16U).add("gemma4.expert_used_count", 4U);
  EXPECT_THAT(error_of(source), HasSubstr("'gemma4.expert_feed_forward_length' is missing"));
  source.add("gemma4.expert_feed_forward_length", 24U);
  source.add_array("gemma4.feed_forward_length", std::vector<std::int32_t>{96, 96, 192});
  const ModelConfig config = ModelConfig::load(source).value();
  for (int i = 0; i < 3; ++i) {
    const auto& experts = std::get<ExpertsFfnSpec>(config.layer(i).feed_forward);
    EXPECT_EQ(experts.num_experts, 16);
    EXPECT_EQ(experts.num_chosen, 4);
    EXPECT_EQ(experts.width, 24);
    EXPECT_EQ(experts.shared_width, i == 2 ? 192 : 96);
    EXPECT_FALSE(experts.shared_is_gated);
    EXPECT_TRUE(experts.own_norms);
    EXPECT_EQ(experts.result_scales, Presence::kRequired);
    EXPECT_EQ(experts.activation, Activation::kGeluTanh);
  }
  source.add("gemma4.expert_count", 0U);
  EXPECT_TRUE(std::holds_alternative<DenseFfnSpec>(ModelConfig::load(source).value().layer(0).feed_forward));
}

TEST(Gemma4, WhereNoLayerThatSeesAllHasVItIsK) {
  for (const bool has_v : {false, true}) {
    MemorySource source = gemma4_keys(6);
    if (has_v) source.add_tensor("blk.5.attn_v.weight", {64, 64}, DType::kF32, std::string(64UL * 64 * 4, '\0'));
    const ModelConfig config = ModelConfig::load(source).value();
    for (int i = 0; i < 6; ++i) EXPECT_EQ(config.layer(i).attention()->v_is_k, !has_v && is_global(i)) << i;
  }
}

TEST(Gemma4, TheLastLayersBorrowFromTheLastOfTheirKind) {
  MemorySource source = gemma4_keys(9);  // w w g w w g | w w g
  source.add("gemma4.attention.shared_kv_layers", 3U);
  const ModelConfig config = ModelConfig::load(source).value();
  for (int i = 0; i < 6; ++i) EXPECT_FALSE(config.layer(i).attention()->borrows_from) << i;
  for (int i = 6; i < 9; ++i) EXPECT_EQ(config.layer(i).attention()->borrows_from, is_global(i) ? 5 : 4) << i;
  EXPECT_EQ(config.last_layer_with_state(), 5);
}

TEST(Gemma4, LayersWithNothingToBorrowAreRefused) {
  MemorySource source = gemma4_keys(3);
  source.add("gemma4.attention.shared_kv_layers", 3U);
  EXPECT_THAT(error_of(source), HasSubstr("gemma4.attention.shared_kv_layers is 3, expected 0 to 2"));
  source.add("gemma4.attention.shared_kv_layers", 2U);
  EXPECT_THAT(error_of(source), HasSubstr("gemma4.attention.shared_kv_layers leaves layer 2 nothing to borrow"));
  source = gemma4_keys(4);
  source.add("gemma4.attention.shared_kv_layers", 1U);
  source.add_array("gemma4.attention.head_count_kv", std::vector<std::int32_t>{2, 2, 2, 1});
  EXPECT_THAT(error_of(source), HasSubstr("lets layer 3 borrow from layer 1, which has 2 KV heads, expected 1"));
}

TEST(Gemma4, FeedForwardsMayDifferInWidth) {
  MemorySource source = gemma4_keys(3);
  source.add_array("gemma4.feed_forward_length", std::vector<std::int32_t>{96, 96, 192});
  const ModelConfig config = ModelConfig::load(source).value();
  for (int i = 0; i < 3; ++i)
    EXPECT_EQ(std::get<DenseFfnSpec>(config.layer(i).feed_forward).width, i == 2 ? 192 : 96) << i;
}

TEST(Gemma4, TokensMayHaveAnEmbeddingForEachLayer) {
  MemorySource source = gemma4_keys(3);
  EXPECT_EQ(ModelConfig::load(source).value().per_layer_width, 0);
  source.add("gemma4.embedding_length_per_layer_input", 32U);
  EXPECT_EQ(ModelConfig::load(source).value().per_layer_width, 32);
  source.add("gemma4.embedding_length_per_layer_input", 1U << 24);
  EXPECT_THAT(error_of(source),
              HasSubstr("gemma4.embedding_length_per_layer_input is 16777216, expected 0 to 5592405"));
}

TEST(Gemma4, LogitsAreCappedWhereTheFileSaysSo) {
  MemorySource source = gemma4_keys(3);
  EXPECT_EQ(ModelConfig::load(source).value().logit_soft_cap, 0.0F);
  source.add("gemma4.final_logit_softcapping", 30.0F);
  EXPECT_EQ(ModelConfig::load(source).value().logit_soft_cap, 30.0F);
  source.add("gemma4.final_logit_softcapping", -1.0F);
  EXPECT_THAT(error_of(source), HasSubstr("gemma4.final_logit_softcapping is -1, expected 0 or a positive number"));
}

TEST(Gemma4, ListsAreAsLongAsThereAreLayers) {
  for (const std::string key : {"attention.head_count_kv", "feed_forward_length"}) {
    MemorySource source = gemma4_keys(3);
    source.add_array("gemma4." + key, std::vector<std::int32_t>{2, 2});
    EXPECT_THAT(error_of(source), HasSubstr("gemma4." + key + " has 2 numbers, expected one for each of the 3 layers"));
    source.add_array("gemma4." + key, std::vector<std::int32_t>{2, 0, 2});
    EXPECT_THAT(error_of(source), HasSubstr("gemma4." + key + " is 0 for layer 1, expected 1 to 16777216"));
  }
  MemorySource source = gemma4_keys(3);
  source.add_array("gemma4.attention.sliding_window_pattern", std::vector<bool>{true});
  EXPECT_THAT(error_of(source), HasSubstr("sliding_window_pattern has 1 flags, expected one for each of the 3 layers"));
}

TEST(Gemma4, KeysWithoutADefaultMustBeThere) {
  for (const char* key : {"attention.sliding_window", "attention.sliding_window_pattern", "attention.key_length",
                          "attention.key_length_swa", "rope.freq_base", "embedding_length_per_layer_input"}) {
    MemorySource source = family_keys("gemma4", 3);
    const MemorySource whole = gemma4_keys(3);
    for (const auto& [name, value] : whole.metadata()) {
      if (name == "gemma4." + std::string(key) || source.find(name) != nullptr) continue;
      if (const auto* number = std::get_if<std::uint64_t>(&value.value)) source.add(name, *number);
      if (const auto* number = std::get_if<double>(&value.value)) source.add(name, static_cast<float>(*number));
      if (std::holds_alternative<MetadataArray>(value.value))
        source.add_array(name, std::vector<bool>{true, true, false});
    }
    EXPECT_THAT(error_of(source), HasSubstr("'gemma4." + std::string(key) + "' is missing"));
  }
}

TEST(Gemma4Assistant, ItsLayersHaveNoKeysAndValuesAndItsLogitsNoCap) {
  MemorySource source = assistant_keys(4);
  source.add("gemma4-assistant.final_logit_softcapping", 30.0F);
  source.add_array("gemma4-assistant.attention.head_count_kv", std::vector<std::int32_t>{2, 2, 1, 2});
  const ModelConfig config = ModelConfig::load(source).value();
  EXPECT_TRUE(config.is_assistant());
  EXPECT_EQ(config.model_width, 256);
  EXPECT_EQ(config.width, 64);
  EXPECT_EQ(config.logit_soft_cap, 0.0F);
  EXPECT_EQ(config.per_layer_width, 0);
  for (int i = 0; i < 4; ++i) {
    const AttentionSpec& attention = *config.layer(i).attention();
    EXPECT_TRUE(attention.borrows_from) << i;
    EXPECT_EQ(attention.window, is_global(i) ? 0 : 24) << i;
    EXPECT_EQ(attention.head_dim, is_global(i) ? 32 : 16) << i;
    EXPECT_EQ(attention.num_kv_heads, is_global(i) ? 1 : 2) << i;
    EXPECT_EQ(attention.scale, 1.0F);
    EXPECT_TRUE(config.layer(i).post_norms);
    EXPECT_TRUE(config.layer(i).output_scale);
    EXPECT_EQ(std::get<DenseFfnSpec>(config.layer(i).feed_forward).width, 96);
  }
  EXPECT_FALSE(ModelConfig::load(gemma4_keys(4)).value().is_assistant());
}

TEST(Gemma4Assistant, WrongKeysAreRefused) {
  MemorySource source = keys_of_layers("gemma4-assistant", 2);
  EXPECT_THAT(error_of(source), HasSubstr("'gemma4-assistant.embedding_length_out' is missing"));
  source.add("gemma4-assistant.embedding_length_out", 0U);
  EXPECT_THAT(error_of(source), HasSubstr("gemma4-assistant.embedding_length_out is 0, expected 1 to 16777216"));
  source = assistant_keys(2);
  source.add("gemma4-assistant.expert_count", 4U);
  EXPECT_THAT(error_of(source),
              HasSubstr("gemma4-assistant.expert_count is not 0, expected an assistant without experts"));
  source = assistant_keys(2);
  source.add_array("gemma4-assistant.feed_forward_length", std::vector<std::int32_t>{96, 96, 96});
  EXPECT_THAT(error_of(source), HasSubstr("feed_forward_length has 3 numbers, expected one for each of the 2 layers"));
}

}  // namespace
}  // namespace octavo::test
