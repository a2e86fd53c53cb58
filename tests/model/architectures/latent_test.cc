// Families with multi-head latent attention: deepseek2, mistral4, minicpm3.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "model/architectures/family_keys.h"
#include "model/weight_list.h"

namespace octavo::test {
namespace {

using testing::HasSubstr;

constexpr LatentSpec kLatent{.rank = 32, .q_rank = 24, .plain_dim = 12, .rotated_dim = 8, .value_dim = 10};

/// Four heads of the latent above.
MemorySource latent_keys(const std::string& architecture, std::uint32_t layers = 3, std::uint64_t words = 80) {
  MemorySource source = family_keys(architecture, layers, "attention.layer_norm_rms_epsilon", words);
  const auto key = [&](const char* suffix) { return architecture + "." + suffix; };
  source.add(key("attention.head_count_kv"), 1U).add(key("attention.kv_lora_rank"), 32U);
  source.add(key("attention.q_lora_rank"), 24U).add(key("rope.dimension_count"), 8U);
  source.add(key("attention.key_length"), 40U).add(key("attention.value_length"), 32U);
  source.add(key("attention.key_length_mla"), 20U).add(key("attention.value_length_mla"), 10U);
  source.add(key("rope.freq_base"), 1e4F);
  return source;
}

MemorySource mixture(const std::string& architecture = "deepseek2", std::uint32_t layers = 3,
                     std::uint64_t words = 80) {
  MemorySource source = latent_keys(architecture, layers, words);
  const auto key = [&](const char* suffix) { return architecture + "." + suffix; };
  source.add(key("expert_count"), 8U).add(key("expert_used_count"), 2U).add(key("expert_feed_forward_length"), 24U);
  source.add(key("expert_shared_count"), 2U).add(key("leading_dense_block_count"), 1U);
  return source;
}

/// As files of before 2025 have it: the keys of a head's original form alone.
MemorySource joint_keys(const std::string& architecture = "minicpm3", std::uint32_t layers = 2) {
  MemorySource source = family_keys(architecture, layers);
  const auto key = [&](const char* suffix) { return architecture + "." + suffix; };
  source.add(key("attention.head_count_kv"), 4U).add(key("attention.kv_lora_rank"), 32U);
  source.add(key("attention.q_lora_rank"), 24U).add(key("rope.dimension_count"), 8U);
  source.add(key("attention.key_length"), 20U);
  return source;
}

const AttentionSpec& attention_of(const ModelConfig& config) { return *config.layer(0).attention(); }
const ExpertsFfnSpec& experts_of(const ModelConfig& config) {
  return std::get<ExpertsFfnSpec>(config.layers.back().feed_forward);
}

TEST(Latent, HeadsOfDeepSeekShareOneKeyValueHead) {
  const ModelConfig config = ModelConfig::load(mixture()).value();
  const AttentionSpec& attention = attention_of(config);
  EXPECT_EQ(attention.latent, kLatent);
  EXPECT_EQ(attention.kv_shape()->num_kv_heads, 1);
  EXPECT_EQ(attention.kv_shape()->k_dim, 40);
  EXPECT_EQ(attention.kv_shape()->v_dim, 32);
  EXPECT_TRUE(attention.kv_shape()->v_in_k);
  EXPECT_EQ(attention.q_rows(), 4 * 20);
  EXPECT_EQ(attention.q_width(), 4 * 40);
  EXPECT_EQ(attention.attended_width(), 4 * 32);
  EXPECT_EQ(attention.result_width(), 4 * 10);
  EXPECT_FLOAT_EQ(attention.scale, 1 / std::sqrt(20.0F)) << "of the original head";
  EXPECT_EQ(attention.rope.layout, RopeLayout::kNeighbours);
  EXPECT_EQ(attention.rope.num_rotated, 8);
  EXPECT_EQ(std::get<DenseFfnSpec>(config.layer(0).feed_forward).width, 96);
  EXPECT_EQ(experts_of(config).shared_width, 48);
  EXPECT_EQ(experts_of(config).router, RouterSpec({.sums_to_one = false, .choice_bias = Presence::kOptional}));
  EXPECT_FALSE(experts_of(config).has_factors);
}

TEST(Latent, QIsMadeOfTheStreamWhereTheFileHasItsMatrix) {
  MemorySource source = mixture();
  source.add_tensor("blk.0.attn_q.weight", {64, 80}, DType::kF32, std::string(64UL * 80 * 4, '\0'));
  EXPECT_EQ(attention_of(ModelConfig::load(source).value()).latent->q_rank, 0) << "whatever q_lora_rank says";
}

TEST(Latent, TheGateIsTheKeysAndOtherwiseTellsGlmFlashByItsWordsAndLayers) {
  const auto gate_of = [](const MemorySource& source) {
    return experts_of(ModelConfig::load(source).value()).router.gate;
  };
  EXPECT_EQ(gate_of(mixture("deepseek2", 47, 154'880)), RouterSpec::Gate::kSigmoid);
  EXPECT_EQ(gate_of(mixture("deepseek2", 48, 154'880).add("deepseek2.nextn_predict_layers", 1U)),
            RouterSpec::Gate::kSigmoid);
  EXPECT_EQ(gate_of(mixture("deepseek2", 46, 154'880)), RouterSpec::Gate::kSoftmax);
  EXPECT_EQ(gate_of(mixture("deepseek2", 47)), RouterSpec::Gate::kSoftmax);
  EXPECT_EQ(gate_of(mixture().add("deepseek2.expert_gating_func", 2U)), RouterSpec::Gate::kSigmoid);
}

TEST(Latent, AStretchedContextMakesScoresGrow) {
  MemorySource source = mixture();
  source.add("deepseek2.rope.scaling.type", "yarn").add("deepseek2.rope.scaling.factor", 40.0F);
  source.add("deepseek2.rope.scaling.original_context_length", 128U);
  const AttentionSpec plain = attention_of(ModelConfig::load(source).value());
  EXPECT_FLOAT_EQ(plain.scale, 1 / std::sqrt(20.0F));
  EXPECT_NEAR(plain.rope.scaling.magnitude, 1 + 0.1 * std::log(40.0), 1e-6);
  source.add("deepseek2.rope.scaling.yarn_log_multiplier", 0.0707F);  // a tenth of mscale_all_dim
  const AttentionSpec grown = attention_of(ModelConfig::load(source).value());
  const double growth = 1 + 0.0707 * std::log(40.0);
  EXPECT_NEAR(static_cast<double>(grown.scale), growth * growth / std::sqrt(20.0), 1e-6);
  EXPECT_EQ(grown.rope.scaling.magnitude, 1);
}

TEST(Latent, ScoresOfMistral4GrowWithThePosition) {
  MemorySource source = mixture("mistral4");
  EXPECT_FALSE(attention_of(ModelConfig::load(source).value()).temperature.has_value());
  source.add("mistral4.attention.temperature_scale", 0.125F).add("mistral4.attention.temperature_length", 64U);
  const auto temperature = attention_of(ModelConfig::load(source).value()).temperature;
  EXPECT_EQ(temperature, (AttentionTemperature{.slope = 0.125, .length = 64}));
}

TEST(Latent, AModelWithoutExpertsIsDense) {
  const ModelConfig config = ModelConfig::load(latent_keys("deepseek2")).value();
  for (const LayerSpec& layer : config.layers) EXPECT_EQ(std::get<DenseFfnSpec>(layer.feed_forward).width, 96);
}

TEST(Latent, MiniCpm3HasItsScalesWithoutKeys) {
  const ModelConfig config = ModelConfig::load(joint_keys()).value();
  LatentSpec expected = kLatent;
  expected.value_dim = 16;  // the width over the heads
  expected.is_joint = true;
  EXPECT_EQ(attention_of(config).latent, expected);
  EXPECT_EQ(attention_of(config).rope.layout, RopeLayout::kHalves);
  EXPECT_EQ(attention_of(config).rope.base, 10000);
  EXPECT_EQ(config.embedding_scale, 12);
  EXPECT_FLOAT_EQ(config.residual_scale, 1.4F / std::sqrt(2.0F));
  EXPECT_EQ(config.logit_scale, 4);  // 256 / 64
}

TEST(Latent, WhatIsNotAModelOfTheseFamiliesIsRefused) {
  const auto with = [](const char* suffix, std::uint32_t value) {
    return error_of(mixture().add(std::string("deepseek2.") + suffix, value));
  };
  EXPECT_THAT(with("attention.head_count_kv", 4U), HasSubstr("deepseek2.attention.head_count_kv is 4, expected 1"));
  EXPECT_THAT(with("attention.key_length", 32U), HasSubstr("deepseek2.attention.key_length is 32, expected 40"));
  EXPECT_THAT(with("attention.value_length", 40U), HasSubstr("deepseek2.attention.value_length is 40, expected 32"));
  EXPECT_THAT(with("rope.dimension_count", 20U), HasSubstr("deepseek2.rope.dimension_count is 20, expected an even"));
  EXPECT_THAT(with("rope.dimension_count", 7U), HasSubstr("deepseek2.rope.dimension_count is 7, expected an even"));
  EXPECT_THAT(with("attention.kv_lora_rank", 0U), HasSubstr("deepseek2.attention.kv_lora_rank is 0"));
  EXPECT_THAT(error_of(joint_keys().add("minicpm3.attention.kv_lora_rank", 1U << 23)),
              HasSubstr("minicpm3.attention.head_count is 4: with heads of 8388616 dimensions"));
  EXPECT_THAT(with("expert_gating_func", 4U), HasSubstr("deepseek2.expert_gating_func is 4"));
  EXPECT_THAT(error_of(joint_keys().add("minicpm3.embedding_scale", 3.0F)),
              HasSubstr("minicpm3.embedding_scale is 3, expected 1"));
  EXPECT_THAT(error_of(joint_keys().add("minicpm3.expert_count", 8U)), HasSubstr("mixtures of experts"));
}

TEST(Latent, ThePartsOfAJointMatrixAreListedByHead) {
  MemorySource source = joint_keys("deepseek2", 1);
  source.add("deepseek2.attention.value_length", 10U).add("deepseek2.rope.freq_base", 1e4F);
  const auto add = [&](const std::string& name, const std::vector<std::uint64_t>& dims) {
    std::uint64_t bytes = sizeof(float);
    for (const std::uint64_t dim : dims) bytes *= dim;
    source.add_tensor(name, dims, DType::kF32, std::string(bytes, '\0'));
  };
  add("output_norm.weight", {64});
  add("blk.0.ffn_norm.weight", {64});
  add("blk.0.attn_q_a.weight", {64, 24});
  add("blk.0.attn_q_a_norm.weight", {24});
  add("blk.0.attn_q_b.weight", {24, 80});
  add("blk.0.attn_kv_a_mqa.weight", {64, 40});
  add("blk.0.attn_kv_a_norm.weight", {32});
  add("blk.0.attn_kv_b.weight", {32, 88});
  add("blk.0.attn_output.weight", {40, 64});
  add("blk.0.ffn_gate.weight", {64, 96});
  add("blk.0.ffn_up.weight", {64, 96});
  add("blk.0.ffn_down.weight", {96, 64});
  const ModelConfig config = ModelConfig::load(source).value();
  const WeightList list = WeightList::create(source, config).value();
  const auto& latent = std::get<AttentionTensors<ListedForm>>(list.tensors.layers[0].mixer).latent;
  const ListedMatrix& keys = list.matrix(latent.keys.index);
  EXPECT_EQ(keys.count, 4);
  EXPECT_EQ(keys.rows, 32);
  EXPECT_EQ(keys.cols, 12);
  EXPECT_TRUE(keys.is_transposed);
  EXPECT_EQ(keys.row_of(3), 66);
  EXPECT_EQ(keys.file_bytes(), 4U * 12 * 32 * sizeof(float));
  const ListedMatrix& values = list.matrix(latent.values.index);
  EXPECT_EQ(values.rows, 10);
  EXPECT_EQ(values.cols, 32);
  EXPECT_FALSE(values.is_transposed);
  EXPECT_EQ(values.row_of(3), 78);
}

}  // namespace
}  // namespace octavo::test
