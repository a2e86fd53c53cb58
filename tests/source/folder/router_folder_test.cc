// Folders of mixtures of experts with routers of their own, and of Qwen3-Next, with numbers that tell where each came
// from.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

#include "source/open_model.h"
#include "support/safetensors_writer.h"
#include "support/temp_folder.h"

namespace octavo {
namespace {

using test::bytes_of;
using test::SafetensorsWriter;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr std::string_view kGlm = R"("n_routed_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 6,
  "n_shared_experts": 1, "first_k_dense_replace": 1, "routed_scaling_factor": 2.5, "norm_topk_prob": true)";
constexpr std::string_view kErnie = R"("moe_num_experts": 4, "moe_k": 2, "moe_intermediate_size": 6,
  "moe_num_shared_experts": 2, "moe_layer_start_index": 1, "moe_layer_interval": 2)";
constexpr std::string_view kMellum = R"("num_local_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 6,
  "norm_topk_prob": true, "sliding_window": 8)";
constexpr std::string_view kHunyuan = R"("num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 6,
  "num_shared_experts": 2, "router_scaling_factor": 2.5)";
constexpr std::string_view kLaguna = R"("num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 6,
  "shared_expert_intermediate_size": 8, "moe_routed_scaling_factor": 2.5, "mlp_layer_types": ["dense", "sparse"])";
constexpr std::string_view kNorth = R"("num_experts": 4, "num_experts_per_tok": 2, "num_shared_experts": 2,
  "prefix_dense_intermediate_size": 20, "logit_scale": 0.25, "expert_selection_fn": "sigmoid",
  "first_k_dense_replace": 1)";
constexpr std::string_view kLing = R"("num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 6,
  "num_shared_experts": 1, "first_k_dense_replace": 1, "routed_scaling_factor": 2.5, "n_group": 2, "topk_group": 1)";
constexpr std::string_view kSpark = R"("hidden_act": "gelu", "gate_attn_act_mode": "sigmoid")";
constexpr std::string_view kNext = R"("num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 6,
  "shared_expert_intermediate_size": 6, "linear_num_key_heads": 2, "linear_num_value_heads": 4,
  "linear_key_head_dim": 2, "linear_value_head_dim": 1, "linear_conv_kernel_dim": 4, "norm_topk_prob": true)";

constexpr std::string_view kLlama4 = R"("num_local_experts": 2, "num_experts_per_tok": 1,
  "intermediate_size_mlp": 6, "interleave_moe_layer_step": 2)";

constexpr std::string_view kStep = R"("n_routed_experts": 2, "num_experts_per_tok": 1, "moe_intermediate_size": 2,
  "share_expert_dim": 6, "sliding_window": 8, "layer_types": ["full_attention", "sliding_attention", "full_attention"],
  "num_sliding_attention_heads": 2, "num_key_value_heads": 1, "head_dim": 8, "moe_router_scaling_factor": 2.5)";

std::vector<float> counted(std::size_t size) {
  std::vector<float> numbers(size);
  std::iota(numbers.begin(), numbers.end(), 0.0F);
  return numbers;
}

class RouterFolder : public testing::Test {
 protected:
  RouterFolder() { write({{"model.embed_tokens.weight", {3, 4}}}); }
  struct Stored {
    std::string name;
    std::vector<std::uint64_t> shape;
  };

  void configure(std::string_view model, std::string_view more, std::string_view yet_more = "") {
    folder_.write("config.json", fmt::format(R"({{"architectures": ["{}"], "hidden_size": 4, "num_hidden_layers": 2,
      "num_attention_heads": 1, "intermediate_size": 8, "vocab_size": 3, "rms_norm_eps": 1e-5,
      "max_position_embeddings": 64, "tie_word_embeddings": true, "rope_theta": 10000.0, {}{}}})",
                                             model, more, yet_more));
  }
  void write(const std::vector<Stored>& tensors) {
    SafetensorsWriter writer;
    for (const Stored& tensor : tensors) {
      std::size_t size = 1;
      for (const std::uint64_t dim : tensor.shape) size *= dim;
      writer.add(tensor.name, "F32", tensor.shape, bytes_of(counted(size)));
    }
    folder_.write("model.safetensors", writer.bytes());
  }
  std::unique_ptr<const ModelSource> opened() {
    auto source = open_model(folder_.path());
    EXPECT_TRUE(source) << source.error().message;
    return std::move(*source);
  }
  std::string error() {
    const auto source = open_model(folder_.path());
    return source ? "" : source.error().message;
  }
  std::string error_with(std::string_view model, std::string_view more, std::string_view yet_more = "") {
    configure(model, more, yet_more);
    return error();
  }
  static std::vector<float> numbers_of(const ModelSource& source, std::string_view name) {
    const SourceTensor* tensor = source.find_tensor(name);
    if (tensor == nullptr) return {};
    std::vector<float> numbers(tensor->tensor.bytes() / sizeof(float));
    EXPECT_TRUE(source.read(tensor->offset, std::as_writable_bytes(std::span(numbers))));
    return numbers;
  }

  test::TempFolder folder_;
};

TEST_F(RouterFolder, GlmsRouterHasGgufsKeys) {
  configure("Glm4MoeForCausalLM", kGlm, R"(, "n_group": 2, "topk_group": 1)");
  const auto source = opened();
  EXPECT_EQ(source->get_u32("glm4moe.expert_count").value(), 4U);
  EXPECT_EQ(source->get_u32("glm4moe.expert_shared_count").value(), 1U);
  EXPECT_EQ(source->get_u32("glm4moe.leading_dense_block_count").value(), 1U);
  EXPECT_EQ(source->get_u32("glm4moe.expert_gating_func").value(), 2U);
  EXPECT_TRUE(source->get_bool("glm4moe.expert_weights_norm").value());
  EXPECT_EQ(source->get_f32("glm4moe.expert_weights_scale").value(), 2.5F);
  EXPECT_EQ(source->get_u32("glm4moe.expert_group_count").value(), 2U);
  EXPECT_EQ(source->get_u32("glm4moe.expert_group_used_count").value(), 1U);
  EXPECT_EQ(source->get_u32("glm4moe.rope.dimension_count").value(), 2U) << "half of a head";
}

TEST_F(RouterFolder, ErniesMixturesStandBetweenDenseLayers) {
  configure("Ernie4_5_MoeForCausalLM", kErnie, R"(, "moe_layer_end_index": 1)");
  const auto source = opened();
  EXPECT_EQ(source->get_u32("ernie4_5-moe.leading_dense_block_count").value(), 1U);
  EXPECT_EQ(source->get_u32("ernie4_5-moe.interleave_moe_layer_step").value(), 2U);
  EXPECT_EQ(source->get_u32("ernie4_5-moe.expert_shared_feed_forward_length").value(), 12U) << "two of the experts";
  EXPECT_EQ(source->find("ernie4_5-moe.expert_gating_func"), nullptr);
}

TEST_F(RouterFolder, MellumsWindowedLayersHaveABaseOfTheirOwn) {
  configure("MellumForCausalLM", kMellum, R"(, "layer_types": ["sliding_attention", "full_attention"],
    "rope_parameters": {"full_attention": {"rope_type": "yarn", "rope_theta": 5e5, "factor": 4.0},
                        "sliding_attention": {"rope_type": "default", "rope_theta": 2e4}})");
  {
    const auto source = opened();
    EXPECT_EQ(source->get_f32("mellum.rope.freq_base").value(), 5e5F);
    EXPECT_EQ(source->get_f32("mellum.rope.freq_base_swa").value(), 2e4F);
    EXPECT_EQ(source->get_u32("mellum.attention.sliding_window").value(), 8U);
    EXPECT_EQ(source->get_string("mellum.rope.scaling.type").value(), "yarn");
  }
  configure("MellumForCausalLM", kMellum, R"(, "layer_types": ["full_attention", "full_attention"])");
  EXPECT_EQ(opened()->find("mellum.attention.sliding_window"), nullptr) << "no layer has one";
}

TEST_F(RouterFolder, HunyuansExpertForEveryRowIsSeveralInOne) {
  configure("HYV3ForCausalLM", kHunyuan);
  const auto source = opened();
  EXPECT_EQ(source->get_u32("hy_v3.expert_shared_feed_forward_length").value(), 12U);
  EXPECT_EQ(source->get_f32("hy_v3.expert_weights_scale").value(), 2.5F);
  EXPECT_TRUE(source->get_bool("hy_v3.expert_weights_norm").value());
}

TEST_F(RouterFolder, LagunasHeadsDifferByLayerAndSoDoesTheRotation) {
  configure("LagunaForCausalLM", kLaguna, R"(, "num_attention_heads_per_layer": [1, 3], "sliding_window": 8,
    "gating": "per-head", "layer_types": ["full_attention", "sliding_attention"], "rope_parameters": {
    "full_attention": {"rope_type": "yarn", "rope_theta": 5e5, "factor": 4.0, "partial_rotary_factor": 0.5},
    "sliding_attention": {"rope_type": "default", "rope_theta": 1e4}, "original_max_position_embeddings": 16})");
  const auto source = opened();
  EXPECT_THAT(source->get_i32_array("laguna.attention.head_count").value(), ElementsAre(1, 3));
  EXPECT_EQ(source->get_u32("laguna.attention.head_count_kv").value(), 1U);
  EXPECT_EQ(source->get_u32("laguna.rope.dimension_count").value(), 2U);
  EXPECT_EQ(source->get_u32("laguna.rope.dimension_count_swa").value(), 4U);
  EXPECT_EQ(source->get_f32("laguna.rope.freq_base_swa").value(), 1e4F);
  EXPECT_EQ(source->get_u32("laguna.leading_dense_block_count").value(), 1U);
  EXPECT_EQ(source->get_u32("laguna.expert_shared_feed_forward_length").value(), 8U);
  EXPECT_EQ(source->get_f32("laguna.expert_weights_scale").value(), 2.5F);
  EXPECT_TRUE(source->get_bool("laguna.expert_weights_norm").value());
}

TEST_F(RouterFolder, NorthsExpertsAreAsWideAsOthersFeedForwards) {
  configure("Cohere2MoeForCausalLM", kNorth, R"(, "norm_topk_prob": false)");
  const auto source = opened();
  EXPECT_EQ(source->get_u32("cohere2moe.expert_feed_forward_length").value(), 8U);
  EXPECT_EQ(source->get_u32("cohere2moe.feed_forward_length").value(), 20U);
  EXPECT_EQ(source->get_u32("cohere2moe.expert_shared_feed_forward_length").value(), 16U);
  EXPECT_EQ(source->get_f32("cohere2moe.logit_scale").value(), 0.25F);
  EXPECT_FALSE(source->get_bool("cohere2moe.expert_weights_norm").value());
}

TEST_F(RouterFolder, LingsGroupsAndSparksPartsOfHeadsAreKeys) {
  configure("BailingMoeV2ForCausalLM", kLing);
  EXPECT_EQ(opened()->get_u32("bailingmoe2.expert_group_count").value(), 2U);
  EXPECT_EQ(opened()->get_u32("bailingmoe2.rope.dimension_count").value(), 2U) << "half of a head";
  EXPECT_EQ(opened()->get_u32("bailingmoe2.expert_shared_feed_forward_length").value(), 6U);
  configure("Spark2_5ForCausalLM", kSpark, R"(, "sliding_window": 8,
    "layer_types": ["sliding_attention", "full_attention"], "rope_parameters": {
    "full_attention": {"rope_theta": 5e6, "partial_rotary_factor": 0.5},
    "sliding_attention": {"rope_theta": 1e4, "partial_rotary_factor": 1.0}})");
  EXPECT_EQ(opened()->get_u32("spark2_5.rope.dimension_count").value(), 2U);
  EXPECT_EQ(opened()->get_u32("spark2_5.rope.dimension_count_swa").value(), 4U);
}

TEST_F(RouterFolder, ABiasForTheChoiceIsAVectorUnderEveryName) {
  struct Name {
    std::string_view model, config, name, expected;
  };
  constexpr Name kNames[] = {
      {"Glm4MoeForCausalLM", kGlm, "mlp.gate.e_score_correction_bias", "blk.1.exp_probs_b.bias"},
      {"Ernie4_5_MoeForCausalLM", kErnie, "mlp.gate.moe_statics.e_score_correction_bias", "blk.1.exp_probs_b.bias"},
      {"Ernie4_5_MoeForCausalLM", kErnie, "mlp.moe_statics.e_score_correction_bias", "blk.1.exp_probs_b.bias"},
      {"LagunaForCausalLM", kLaguna, "mlp.gate.e_score_correction_bias", "blk.1.exp_probs_b.bias"},
      {"LagunaForCausalLM", kLaguna, "mlp.experts.e_score_correction_bias", "blk.1.exp_probs_b.bias"},
      {"BailingMoeV2ForCausalLM", kLing, "mlp.gate.expert_bias", "blk.1.exp_probs_b.bias"},
      {"HYV3ForCausalLM", kHunyuan, "mlp.e_score_correction_bias", "blk.1.exp_probs_b"},
      {"HYV3ForCausalLM", kHunyuan, "mlp.expert_bias", "blk.1.exp_probs_b"}};
  for (const auto& [model, config, name, expected] : kNames) {
    configure(model, config);
    for (const std::vector<std::uint64_t>& shape : {std::vector<std::uint64_t>{4}, {1, 4}}) {
      write({{"model.layers.1." + std::string(name), shape}});
      const auto source = opened();
      ASSERT_NE(source->find_tensor(expected), nullptr) << name;
      EXPECT_EQ(source->find_tensor(expected)->dims, std::vector<std::uint64_t>{4}) << name;
    }
    write({{"model.layers.1." + std::string(name), {2, 2}}});
    EXPECT_THAT(error(), HasSubstr("has 2 rows, expected 1")) << name;
  }
}

TEST_F(RouterFolder, LayersThatPredictFurtherTokensAreLeftOut) {
  struct Name {
    std::string_view model, config, name;
  };
  constexpr Name kNames[] = {{"Glm4MoeForCausalLM", kGlm, "model.layers.2.eh_proj.weight"},
                             {"HYV3ForCausalLM", kHunyuan, "model.layers.2.final_layernorm.weight"},
                             {"Cohere2MoeForCausalLM", kNorth, "model.layers.2.eh_proj.weight"},
                             {"BailingMoeV2ForCausalLM", kLing, "model.layers.2.eh_proj.weight"},
                             {"Ernie4_5_MoeForCausalLM", kErnie, "model.mtp_block.0.input_layernorm.weight"},
                             {"Ernie4_5_MoeForCausalLM", kErnie, "model.mtp_linear_proj.0.weight"},
                             {"Qwen3NextForCausalLM", kNext, "mtp.fc.weight"}};
  for (const auto& [model, config, name] : kNames) {
    configure(model, config);
    write({{std::string(name), {4}}, {"model.norm.weight", {4}}});
    EXPECT_EQ(opened()->tensors().size(), 1U) << name;
  }
  configure("Glm4MoeForCausalLM", kGlm);
  write({{"model.layers.1.eh_proj.weight", {4}}});
  EXPECT_THAT(error(), HasSubstr("has no place in a model of Glm4MoeForCausalLM"));
}

TEST_F(RouterFolder, RefusesWhatTheFamiliesDoNotCompute) {
  constexpr std::string_view kGlmName = "Glm4MoeForCausalLM", kErnieName = "Ernie4_5_MoeForCausalLM",
                             kMellumName = "MellumForCausalLM", kHunyuanName = "HYV3ForCausalLM",
                             kNextName = "Qwen3NextForCausalLM", kLagunaName = "LagunaForCausalLM",
                             kNorthName = "Cohere2MoeForCausalLM", kLingName = "BailingMoeV2ForCausalLM",
                             kSparkName = "Spark2_5ForCausalLM";
  struct Refusal {
    std::string_view model, config, more, expected;
  };
  constexpr Refusal kRefusals[] = {
      {kGlmName, kGlm, R"("scoring_func": "softmax")", "scoring_func is 'softmax', expected sigmoid"},
      {kGlmName, kGlm, R"("n_group": 2)", "topk_group is missing"},
      {kErnieName, kErnie, R"("moe_layer_end_index": 0)",
       "moe_layer_end_index is 0, expected -1 or the last of 2 layers"},
      {kErnieName, kErnie, R"("use_bias": true)", "use_bias is true"},
      {kMellumName, kMellum, R"("mlp_layer_types": ["sparse", "dense"])",
       "mlp_layer_types: layer 1 is 'dense', expected sparse"},
      {kMellumName, kMellum, R"("rope_parameters": {"full_attention": {"truncate": false}})", "truncate is false"},
      {kMellumName, kMellum,
       R"("layer_types": ["sliding_attention", "full_attention"],
          "rope_parameters": {"sliding_attention": {"rope_type": "yarn"}})",
       "rope_type is 'yarn', expected default"},
      {kLagunaName, kLaguna, R"("moe_router_logit_softcapping": 5.0)", "moe_router_logit_softcapping is 5, expected 0"},
      {kLagunaName, kLaguna, R"("swa_attention_sink_enabled": true)", "swa_attention_sink_enabled is true"},
      {kLagunaName, kLaguna, R"("num_attention_heads_per_layer": [1])", "has 1 numbers, expected one for each of 2"},
      {kLagunaName, kLaguna, R"("num_attention_heads_per_layer": [1, 0])", "layer 1 has 0, expected 1 to"},
      {kLagunaName, kLaguna, R"("mlp_layer_types": ["sparse", "dense"])", "layer 1 is 'dense', expected sparse"},
      {kLagunaName, kLaguna, R"("mlp_layer_types": null)", "first_k_dense_replace are missing"},
      {kNorthName, kNorth, R"("expert_selection_fn": "softmax")", "expert_selection_fn is 'softmax', expected sigmoid"},
      {kNorthName, kNorth, R"("shared_expert_combination_strategy": "sum")", "is 'sum', expected average"},
      {kNorthName, kNorth, R"("prefix_dense_sliding_window_pattern": 4)", "is 4, expected 1"},
      {kLingName, kLing, R"("use_qkv_bias": true)", "use_qkv_bias is true"},
      {kLingName, kLing, R"("score_function": "softmax")", "score_function is 'softmax', expected sigmoid"},
      {kSparkName, kSpark, R"("hidden_act": "silu")", "hidden_act is 'silu', expected gelu"},
      {kSparkName, kSpark, R"("headwise_attn_output_gate": false)", "headwise_attn_output_gate is false"},
      {kHunyuanName, kHunyuan, R"("mlp_bias": true)", "mlp_bias is true"},
      {kHunyuanName, kHunyuan, R"("qk_norm": false)", "qk_norm is false"},
      {kNextName, kNext, R"("mlp_only_layers": [1])", "layers without experts are not supported"},
      {kNextName, kNext, R"("decoder_sparse_step": 2)", "layers without experts are not supported"}};
  for (const auto& [model, config, more, expected] : kRefusals)
    EXPECT_THAT(error_with(model, config, ", " + std::string(more)), HasSubstr(expected));
}

// By key head: 2 rows of Q, 2 of K, then 2 of V and 2 of the gate.
TEST_F(RouterFolder, Qwen3NextsProjectionIsTakenApart) {
  configure("Qwen3NextForCausalLM", kNext);
  const std::string net = "model.layers.0.linear_attn.";
  write({{net + "in_proj_qkvz.weight", {16, 1}},
         {net + "in_proj_ba.weight", {8, 1}},
         {net + "conv1d.weight", {12, 1, 1}},
         {net + "out_proj.weight", {1, 4}},
         {net + "dt_bias", {4}}});
  {
    const auto source = opened();
    EXPECT_THAT(numbers_of(*source, "blk.0.attn_qkv.weight"), ElementsAre(0, 1, 8, 9, 2, 3, 10, 11, 4, 5, 12, 13));
    EXPECT_THAT(numbers_of(*source, "blk.0.attn_gate.weight"), ElementsAre(6, 7, 14, 15));
    EXPECT_EQ(source->find_tensor("blk.0.attn_qkv.weight")->dims, (std::vector<std::uint64_t>{1, 12}));
    EXPECT_EQ(numbers_of(*source, "blk.0.ssm_ba.weight"), counted(8));
    EXPECT_EQ(numbers_of(*source, "blk.0.ssm_conv1d.weight"), counted(12)) << "value heads keep their order";
    EXPECT_EQ(numbers_of(*source, "blk.0.ssm_out.weight"), counted(4));
    EXPECT_EQ(numbers_of(*source, "blk.0.ssm_dt.bias"), counted(4));
  }
  write({{net + "in_proj_qkvz.weight", {12, 1}}});
  EXPECT_THAT(error(), HasSubstr("has 12 rows, expected 16"));
  write({{net + "dt_bias", {3}}});
  EXPECT_THAT(error(), HasSubstr("has 3 rows, expected 4"));
}

TEST_F(RouterFolder, ExpertsOfQwen3VlAreTransposedOrNot) {
  folder_.write("config.json", R"({"architectures": ["Qwen3VLMoeForConditionalGeneration"],
    "tie_word_embeddings": true, "text_config": {"hidden_size": 2, "num_hidden_layers": 1, "num_attention_heads": 1,
    "vocab_size": 3, "rms_norm_eps": 1e-5, "max_position_embeddings": 64, "num_local_experts": 2,
    "num_experts_per_tok": 1, "moe_intermediate_size": 3,
    "rope_parameters": {"rope_type": "default", "rope_theta": 10000.0}}})");
  const std::string experts = "model.language_model.layers.0.mlp.experts.";
  const std::string gate = "blk.0.ffn_gate_exps.weight", up = "blk.0.ffn_up_exps.weight",
                    down = "blk.0.ffn_down_exps.weight";
  write({{experts + "gate_up_proj", {2, 2, 6}}, {experts + "down_proj", {2, 3, 2}}});
  {
    const auto source = opened();
    EXPECT_EQ(source->get_string("general.architecture").value(), "qwen3vlmoe");
    EXPECT_EQ(source->get_u32("qwen3vlmoe.expert_count").value(), 2U);
    EXPECT_EQ(source->find_tensor(gate)->dims, (std::vector<std::uint64_t>{2, 3, 2}));
    EXPECT_THAT(numbers_of(*source, gate), ElementsAre(0, 6, 1, 7, 2, 8, 12, 18, 13, 19, 14, 20));
    EXPECT_THAT(numbers_of(*source, up), ElementsAre(3, 9, 4, 10, 5, 11, 15, 21, 16, 22, 17, 23));
    EXPECT_THAT(numbers_of(*source, down), ElementsAre(0, 2, 4, 1, 3, 5, 6, 8, 10, 7, 9, 11));
  }
  write({{experts + "gate_up_proj", {2, 6, 2}}, {experts + "down_proj", {2, 2, 3}}});
  const auto source = opened();
  EXPECT_THAT(numbers_of(*source, gate), ElementsAre(0, 1, 2, 3, 4, 5, 12, 13, 14, 15, 16, 17));
  EXPECT_THAT(numbers_of(*source, up), ElementsAre(6, 7, 8, 9, 10, 11, 18, 19, 20, 21, 22, 23));
  EXPECT_EQ(numbers_of(*source, down), counted(12));
}

TEST_F(RouterFolder, Llama4SaysWhichLayersSeeChunksAndWhereScoresGrow) {
  configure("Llama4ForCausalLM", kLlama4, R"(, "attention_chunk_size": 32, "attn_temperature_tuning": 4,
    "attn_scale": 0.25, "floor_scale": 16, "no_rope_layers": [0, 1], "moe_layers": [1], "use_qk_norm": false,
    "layer_types": ["full_attention", "chunked_attention"])");
  {
    const auto source = opened();
    EXPECT_EQ(source->get_u32("llama4.feed_forward_length").value(), 6U);
    EXPECT_EQ(source->get_u32("llama4.expert_feed_forward_length").value(), 8U);
    EXPECT_EQ(source->get_u32("llama4.interleave_moe_layer_step").value(), 2U);
    EXPECT_EQ(source->get_u32("llama4.attention.chunk_size").value(), 32U);
    EXPECT_EQ(source->get_f32("llama4.attention.temperature_scale").value(), 0.25F);
    EXPECT_EQ(source->get_u32("llama4.attention.temperature_length").value(), 16U);
    EXPECT_FALSE(source->get_bool("llama4.use_qk_norm").value());
  }
  configure("Llama4ForCausalLM", kLlama4, R"(, "attn_temperature_tuning": false)");
  const auto source = opened();
  EXPECT_EQ(source->get_f32("llama4.attention.temperature_scale").value(), 0);
  EXPECT_EQ(source->get_u32("llama4.attention.chunk_size").value(), 8192U);
  EXPECT_TRUE(source->get_bool("llama4.use_qk_norm").value());
}

TEST_F(RouterFolder, WhatLlama4DoesNotComputeIsRefusedByItsMember) {
  constexpr std::string_view kModel = "Llama4ForCausalLM";
  EXPECT_THAT(error_with(kModel, kLlama4, R"(, "no_rope_layers": [1])"), HasSubstr("no_rope_layers has 1 numbers"));
  EXPECT_THAT(error_with(kModel, kLlama4, R"(, "no_rope_layers": [1, 2])"), HasSubstr("layer 1 is 2, expected 0 or 1"));
  EXPECT_THAT(error_with(kModel, kLlama4, R"(, "no_rope_layer_interval": 0)"), HasSubstr("interval is 0"));
  EXPECT_THAT(error_with(kModel, kLlama4, R"(, "layer_types": ["full_attention", "full_attention"])"),
              HasSubstr("layer 0 is 'full_attention', expected chunked_attention"));
  EXPECT_THAT(error_with(kModel, kLlama4, R"(, "moe_layers": [0])"), HasSubstr("other layers than each 2th"));
  EXPECT_THAT(error_with(kModel, kLlama4, R"(, "attention_bias": true)"), HasSubstr("attention_bias is true"));
  EXPECT_THAT(error_with(kModel, kLlama4, R"(, "attention_chunk_size": 0)"), HasSubstr("attention_chunk_size is 0"));
  EXPECT_THAT(error_with(kModel, kLlama4, R"(, "floor_scale": 0)"), HasSubstr("floor_scale is 0"));
}

TEST_F(RouterFolder, ExpertsOfLlama4AreTransposedWhateverTheirWidth) {
  configure("Llama4ForConditionalGeneration", kLlama4);
  folder_.write("config.json", fmt::format(R"({{"architectures": ["Llama4ForConditionalGeneration"], "text_config": {{
    "hidden_size": 4, "num_hidden_layers": 2, "num_attention_heads": 1, "intermediate_size": 2, "vocab_size": 3,
    "rms_norm_eps": 1e-5, "max_position_embeddings": 64, "tie_word_embeddings": true, "rope_theta": 10000.0, {}}}}})",
                                           kLlama4));
  const std::string experts = "language_model.model.layers.1.feed_forward.experts.";
  write({{"language_model.model.embed_tokens.weight", {3, 4}},
         {experts + "gate_up_proj", {2, 4, 4}},
         {experts + "down_proj", {2, 2, 4}},
         {"vision_model.patch.weight", {1}}});
  const auto source = opened();
  EXPECT_THAT(numbers_of(*source, "blk.1.ffn_gate_exps.weight"),
              ElementsAre(0, 4, 8, 12, 1, 5, 9, 13, 16, 20, 24, 28, 17, 21, 25, 29));
  EXPECT_THAT(numbers_of(*source, "blk.1.ffn_up_exps.weight"),
              ElementsAre(2, 6, 10, 14, 3, 7, 11, 15, 18, 22, 26, 30, 19, 23, 27, 31));
  EXPECT_EQ(source->find_tensor("blk.1.ffn_down_exps.weight")->dims, (std::vector<std::uint64_t>{2, 4, 2}));
  EXPECT_THAT(numbers_of(*source, "blk.1.ffn_down_exps.weight"),
              ElementsAre(0, 4, 1, 5, 2, 6, 3, 7, 8, 12, 9, 13, 10, 14, 11, 15));
}

TEST_F(RouterFolder, Step35SaysHeadsRotationsAndLimitsByLayer) {
  configure("Step3p5ForCausalLM", kStep, R"(, "swiglu_limits": [null, 7, null], "swiglu_limits_shared": [1.5, 0.0],
    "rope_parameters": {"full_attention": {"rope_type": "llama3", "rope_theta": 10000.0, "factor": 16.0,
      "partial_rotary_factor": 0.5, "low_freq_factor": 1.0, "high_freq_factor": 1.0,
      "original_max_position_embeddings": 400}, "sliding_attention": {"rope_type": "default", "rope_theta": 500.0}})");
  const auto source = opened();
  EXPECT_EQ(source->get_i32_array("step35.attention.head_count").value(), (std::vector<std::int32_t>{1, 2}));
  EXPECT_EQ(source->get_i32_array("step35.attention.head_count_kv").value(), (std::vector<std::int32_t>{1, 1}));
  EXPECT_EQ(source->get_f32_array("step35.swiglu_clamp_exp").value(), (std::vector<float>{0, 7}));
  EXPECT_EQ(source->get_f32_array("step35.swiglu_clamp_shexp").value(), (std::vector<float>{1.5F, 0}));
  EXPECT_EQ(source->get_f32("step35.rope.freq_base_swa").value(), 500);
  EXPECT_EQ(source->get_u32("step35.expert_shared_feed_forward_length").value(), 6U);
  EXPECT_EQ(source->get_f32("step35.expert_weights_scale").value(), 2.5F);
  EXPECT_TRUE(source->get_bool("step35.expert_weights_norm").value());
  EXPECT_THAT(numbers_of(*source, "rope_freqs.weight"), ElementsAre(1, 16, 1, 1)) << "half of a head has two pairs";
}

TEST_F(RouterFolder, Step35UnderTheNamesOfTheHub) {
  configure("Step3p5ForCausalLM", R"("moe_num_experts": 2, "moe_top_k": 1, "moe_intermediate_size": 2,
    "share_expert_dim": 6, "sliding_window": 8, "layer_types": ["full_attention", "sliding_attention"],
    "attention_other_setting": {"num_attention_heads": 3, "num_attention_groups": 1}, "num_attention_groups": 1,
    "partial_rotary_factors": [0.5, 1.0])",
            R"(, "rope_theta": [5000000.0, 10000])");
  write({{"model.embed_tokens.weight", {3, 4}},
         {"model.layers.1.moe.gate.weight", {2, 4}},
         {"model.layers.1.moe.router_bias", {2}},
         {"model.layers.1.moe.gate_proj.weight", {2, 2, 4}},
         {"model.layers.1.share_expert.down_proj.weight", {4, 6}},
         {"model.layers.1.self_attn.q_norm.weight", {4}},
         {"model.layers.2.eh_proj.weight", {1, 1}}});
  const auto source = opened();
  EXPECT_EQ(source->get_i32_array("step35.attention.head_count").value(), (std::vector<std::int32_t>{1, 3}));
  EXPECT_EQ(source->get_f32("step35.rope.freq_base").value(), 5e6F);
  EXPECT_EQ(source->get_f32("step35.rope.freq_base_swa").value(), 1e4F);
  EXPECT_EQ(source->find_tensor("blk.1.ffn_gate_exps.weight")->dims, (std::vector<std::uint64_t>{4, 2, 2}));
  EXPECT_THAT(numbers_of(*source, "blk.1.exp_probs_b.bias"), ElementsAre(0, 1));
  EXPECT_THAT(numbers_of(*source, "blk.1.attn_q_norm.weight"), ElementsAre(1, 2, 3, 4)) << "one more than is stored";
  EXPECT_NE(source->find_tensor("blk.1.ffn_down_shexp.weight"), nullptr);
  EXPECT_NE(source->find_tensor("blk.1.ffn_gate_inp.weight"), nullptr);
}

TEST_F(RouterFolder, WhatStep35DoesNotComputeIsRefusedByItsMember) {
  constexpr std::string_view kModel = "Step3p5ForCausalLM";
  EXPECT_THAT(error_with(kModel, kStep, R"(, "swiglu_limits": [7])"), HasSubstr("swiglu_limits has 1 entries"));
  EXPECT_THAT(error_with(kModel, kStep, R"(, "swiglu_limits": ["a", 7])"), HasSubstr("layer 0 has a text"));
  EXPECT_THAT(error_with(kModel, kStep, R"(, "partial_rotary_factors": [1.0, 1.0])"),
              HasSubstr("1 of a head is rotated"));
  EXPECT_THAT(error_with(kModel, kStep, R"(, "moe_router_activation": "softmax")"), HasSubstr("expected sigmoid"));
  EXPECT_THAT(error_with(kModel, kStep, R"(, "attention_bias": true)"), HasSubstr("attention_bias is true"));
  EXPECT_THAT(error_with(kModel, kStep, R"(, "layer_types": ["full_attention"])"),
              HasSubstr("layer_types has 1 entries"));
  EXPECT_THAT(error_with(kModel, kStep, R"(, "layer_types": ["full_attention", "other"])"),
              HasSubstr("layer 1 is 'other'"));
}

// Its file has the divisors 1 and the whole factor, with nothing between.
TEST_F(RouterFolder, TheEndsOfLlama4sRampMayBeEqual) {
  configure("Llama4ForCausalLM", kLlama4, R"(, "head_dim": 8, "rope_scaling": {"rope_type": "llama3", "factor": 16.0,
    "low_freq_factor": 1.0, "high_freq_factor": 1.0, "original_max_position_embeddings": 1024})");
  EXPECT_THAT(numbers_of(*opened(), "rope_freqs.weight"), ElementsAre(1, 1, 1, 16));
}

}  // namespace
}  // namespace octavo
