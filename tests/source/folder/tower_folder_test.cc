// Folders with an encoder of pictures beside the model, whose numbers tell where each came from.
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
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr std::string_view kVision = R"("depth": 3, "hidden_size": 8, "num_heads": 2, "intermediate_size": 12,
  "patch_size": 2, "spatial_merge_size": 2, "temporal_patch_size": 2, "in_channels": 3, "num_position_embeddings": 9,
  "hidden_act": "gelu_pytorch_tanh", "deepstack_visual_indexes": [2, 0])";

std::string config(std::string_view vision = kVision, std::string_view model = "Qwen3VLForConditionalGeneration") {
  return fmt::format(R"({{"architectures": ["{}"], "tie_word_embeddings": true, "text_config": {{"hidden_size": 4,
    "num_hidden_layers": 3, "num_attention_heads": 1, "intermediate_size": 6, "vocab_size": 3, "rms_norm_eps": 1e-5,
    "max_position_embeddings": 64, "rope_parameters": {{"rope_type": "default", "rope_theta": 10000.0,
    "mrope_section": [1, 1, 0]}}}}{}}})",
                     model, vision.empty() ? "" : fmt::format(R"(, "vision_config": {{{}}})", vision));
}

std::vector<float> counted(std::size_t size) {
  std::vector<float> numbers(size);
  std::iota(numbers.begin(), numbers.end(), 0.0F);
  return numbers;
}

struct Stored {
  std::string name;
  std::vector<std::uint64_t> shape;
};

std::string file_of(const std::vector<Stored>& tensors, std::string_view dtype = "F32") {
  SafetensorsWriter writer;
  for (const Stored& tensor : tensors) {
    std::size_t size = 1;
    for (const std::uint64_t dim : tensor.shape) size *= dim;
    if (dtype == "F32") {
      writer.add(tensor.name, dtype, tensor.shape, bytes_of(counted(size)));
    } else {  // the upper halves of floats
      std::string halves;
      for (const float number : counted(size)) halves += bytes_of(std::vector{number}).substr(2);
      writer.add(tensor.name, dtype, tensor.shape, halves);
    }
  }
  return writer.bytes();
}

std::vector<Stored> some_tensors(const std::string& prefix = "model.visual.") {
  return {{"model.language_model.embed_tokens.weight", {3, 4}},
          {prefix + "patch_embed.proj.weight", {8, 3, 2, 2, 2}},
          {prefix + "pos_embed.weight", {9, 8}},
          {prefix + "blocks.1.attn.qkv.weight", {24, 8}},
          {prefix + "blocks.1.attn.qkv.bias", {24}},
          {prefix + "deepstack_merger_list.0.linear_fc1.weight", {32, 32}},
          {prefix + "deepstack_merger_list.1.norm.bias", {32}},
          {prefix + "merger.linear_fc2.weight", {4, 32}}};
}

class TowerFolder : public testing::Test {
 protected:
  TowerFolder() {
    folder_.write("config.json", config());
    folder_.write("model.safetensors", file_of(some_tensors()));
  }
  std::unique_ptr<const ModelSource> opened() {
    auto source = open_encoder(folder_.path());
    EXPECT_TRUE(source) << source.error().message;
    return std::move(*source);
  }
  std::string error() {
    const auto source = open_encoder(folder_.path());
    return source ? "" : source.error().message;
  }
  std::string error_with(std::string_view vision) {
    folder_.write("config.json", config(vision));
    return error();
  }
  static std::vector<float> numbers_of(const ModelSource& source, std::string_view name) {
    const SourceTensor* tensor = source.find_tensor(name);
    if (tensor == nullptr) return {};
    EXPECT_EQ(tensor->tensor.type, DType::kF32);
    std::vector<float> numbers(tensor->tensor.bytes() / sizeof(float));
    EXPECT_TRUE(source.read(tensor->offset, std::as_writable_bytes(std::span(numbers))));
    return numbers;
  }

  test::TempFolder folder_;
};

TEST_F(TowerFolder, HasTheKeysAndNamesOfAnEncodersFile) {
  const auto source = opened();
  EXPECT_EQ(source->get_string("general.architecture").value(), "clip");
  EXPECT_EQ(source->get_string("general.type").value(), "mmproj");
  EXPECT_EQ(source->get_string("clip.projector_type").value(), "qwen3vl_merger");
  EXPECT_TRUE(source->get_bool("clip.has_vision_encoder").value());
  EXPECT_EQ(source->get_u32("clip.vision.embedding_length").value(), 8U);
  EXPECT_EQ(source->get_u32("clip.vision.projection_dim").value(), 4U) << "the width of the part of language";
  EXPECT_EQ(source->get_u32("clip.vision.image_size").value(), 6U) << "3 x 3 positions of patches of 2";
  EXPECT_EQ(source->get_f32("clip.vision.attention.layer_norm_epsilon").value(), 1e-6F);
  EXPECT_THAT(source->get_f32_array("clip.vision.image_mean").value(), ElementsAre(0.5F, 0.5F, 0.5F));
  EXPECT_EQ(source->find("clip.vision.image_min_pixels"), nullptr);
  std::vector<std::string_view> names;
  for (const SourceTensor& tensor : source->tensors()) names.push_back(tensor.name);
  EXPECT_THAT(names,
              testing::UnorderedElementsAre("v.patch_embd.weight", "v.patch_embd.weight.1", "v.position_embd.weight",
                                            "v.blk.1.attn_qkv.weight", "v.blk.1.attn_qkv.bias",
                                            "v.deepstack.2.fc1.weight", "v.deepstack.0.norm.bias", "mm.2.weight"));
  EXPECT_EQ(numbers_of(*source, "v.blk.1.attn_qkv.weight"), counted(24 * 8));
}

TEST_F(TowerFolder, AKernelOfTwoFramesBecomesTwo) {
  const auto source = opened();
  EXPECT_EQ(source->find_tensor("v.patch_embd.weight")->dims, (std::vector<std::uint64_t>{2, 2, 3, 8}));
  std::vector<float> frames[2];
  for (std::size_t i = 0; i < 8 * 3 * 2 * 4; ++i) frames[i / 4 % 2].push_back(static_cast<float>(i));
  EXPECT_EQ(numbers_of(*source, "v.patch_embd.weight"), frames[0]);
  EXPECT_EQ(numbers_of(*source, "v.patch_embd.weight.1"), frames[1]);
}

TEST_F(TowerFolder, HalvesBecomeFloatsWhereFilesOfEncodersHaveThem) {
  folder_.write("model.safetensors", file_of(some_tensors("visual."), "BF16"));
  const auto source = opened();
  EXPECT_EQ(numbers_of(*source, "v.position_embd.weight"), counted(72));
  EXPECT_EQ(numbers_of(*source, "v.blk.1.attn_qkv.bias"), counted(24));
  EXPECT_EQ(numbers_of(*source, "v.patch_embd.weight").size(), 96U);
  EXPECT_EQ(source->find_tensor("mm.2.weight")->tensor.type, DType::kBF16);
}

TEST_F(TowerFolder, HowPicturesArePreparedIsReadFromEitherFile) {
  folder_.write("preprocessor_config.json",
                R"({"image_mean": [0.1, 0.2, 0.3], "image_std": [1, 2, 3], "min_pixels": 64, "max_pixels": 640})");
  {
    const auto source = opened();
    EXPECT_THAT(source->get_f32_array("clip.vision.image_mean").value(), ElementsAre(0.1F, 0.2F, 0.3F));
    EXPECT_THAT(source->get_f32_array("clip.vision.image_std").value(), ElementsAre(1, 2, 3));
    EXPECT_EQ(source->get_u32("clip.vision.image_min_pixels").value(), 64U);
    EXPECT_EQ(source->get_u32("clip.vision.image_max_pixels").value(), 640U);
  }
  folder_.write("processor_config.json",
                R"({"image_processor": {"image_mean": [0, 0, 0], "size": {"shortest_edge": 16, "longest_edge": 32}}})");
  const auto source = opened();
  EXPECT_THAT(source->get_f32_array("clip.vision.image_mean").value(), ElementsAre(0, 0, 0));
  EXPECT_THAT(source->get_f32_array("clip.vision.image_std").value(), ElementsAre(0.5F, 0.5F, 0.5F));
  EXPECT_EQ(source->get_u32("clip.vision.image_min_pixels").value(), 16U);
  EXPECT_EQ(source->get_u32("clip.vision.image_max_pixels").value(), 32U);
}

TEST_F(TowerFolder, TheModelSaysHowManyVectorsItsLayersAdd) {
  folder_.write("model.safetensors", file_of({{"model.language_model.embed_tokens.weight", {3, 4}}}));
  const auto source = open_model(folder_.path());
  ASSERT_TRUE(source) << source.error().message;
  EXPECT_EQ((*source)->get_u32("qwen3vl.n_deepstack_layers").value(), 2U);
  EXPECT_THAT(error(), HasSubstr("has no tensors of an encoder of the family qwen3vl_merger"));
  EXPECT_TRUE(has_encoder(folder_.path())) << "as far as config.json tells";
}

TEST_F(TowerFolder, AFolderWithoutAnEncoderIsAnError) {
  for (const std::string& text : {config("", "Qwen3VLForConditionalGeneration"), config(kVision, "LlamaForCausalLM")}) {
    folder_.write("config.json", text);
    EXPECT_FALSE(has_encoder(folder_.path()));
    EXPECT_THAT(error(), HasSubstr("has no encoder of pictures that can be read"));
  }
}

TEST_F(TowerFolder, MembersOfTheConfigThatLieAreRefused) {
  EXPECT_EQ(error_with(kVision), "");
  const auto with = [&](std::string_view from, std::string_view to) {
    std::string vision(kVision);
    vision.replace(vision.find(from), from.size(), to);
    return error_with(vision);
  };
  EXPECT_THAT(with(R"("depth": 3)", R"("depth": 4097)"), HasSubstr("vision_config.depth is 4097, expected at most"));
  EXPECT_THAT(with(R"("depth": 3, )", ""), HasSubstr("vision_config.depth"));
  EXPECT_THAT(with("[2, 0]", "[3]"), HasSubstr("deepstack_visual_indexes has 3, expected different layers below 3"));
  EXPECT_THAT(with("[2, 0]", "[0, 0]"), HasSubstr("expected different layers"));
  EXPECT_THAT(with("[2, 0]", "[-1]"), HasSubstr("expected different layers"));
  EXPECT_THAT(with("[2, 0]", "[0]"), HasSubstr("deepstack_merger_list.1.norm.bias' has no place"));
  EXPECT_THAT(with(R"(embeddings": 9)", R"(embeddings": 8)"), HasSubstr("is 8, expected a square number"));
  EXPECT_THAT(with(R"(embeddings": 9)", R"(embeddings": 9007199254740991)"), HasSubstr("expected a square number"));
  EXPECT_THAT(with("gelu_pytorch_tanh", "silu"), HasSubstr("'silu', expected gelu_pytorch_tanh"));
  EXPECT_THAT(with(R"("temporal_patch_size": 2)", R"("temporal_patch_size": 1)"), HasSubstr("is 1, expected 2"));
  EXPECT_THAT(with(R"("patch_size": 2)", R"("patch_size": 99999999)"), HasSubstr("patch_size is 99999999"));
  EXPECT_THAT(with(R"("in_channels": 3)", R"("rope_parameters": {"rope_theta": 5})"), HasSubstr("rope_theta is 5"));
}

TEST_F(TowerFolder, TensorsOfOtherFormsAreRefusedByName) {
  const auto with = [&](const Stored& tensor) {
    folder_.write("model.safetensors", file_of({tensor}));
    return error();
  };
  EXPECT_THAT(with({"model.visual.patch_embed.proj.weight", {8, 3, 1, 2, 2}}),
              AllOf(HasSubstr("patch_embed.proj.weight"), HasSubstr("kernels of 1 frames, expected 2")));
  EXPECT_THAT(with({"model.visual.patch_embed.proj.weight", {8, 24}}), HasSubstr("has 2 dimensions, expected 5"));
  EXPECT_THAT(with({"model.visual.blocks.0.attn.other.weight", {8, 8}}),
              HasSubstr("attn.other.weight' has no place in an encoder of the family qwen3vl_merger"));
  EXPECT_THAT(with({"model.visual.blocks.x.norm1.weight", {8}}), HasSubstr("has no place"));
  EXPECT_THAT(with({"model.visual.deepstack_merger_list.18446744073709551615.norm.weight", {8}}),
              HasSubstr("has no place"));
}

constexpr std::string_view kGemmaVision = R"("num_hidden_layers": 1, "hidden_size": 8, "num_attention_heads": 2,
  "num_key_value_heads": 2, "head_dim": 4, "intermediate_size": 12, "patch_size": 2, "pooling_kernel_size": 3,
  "hidden_activation": "gelu_pytorch_tanh", "rope_parameters": {"rope_theta": 100.0})";

TEST_F(TowerFolder, Gemma4sBoundsTablesAndPatchesBecomeTheFilesForm) {
  folder_.write("config.json", config(kGemmaVision, "Gemma4ForConditionalGeneration"));
  folder_.write("preprocessor_config.json", R"({"do_normalize": false, "image_mean": [0.5, 0.5, 0.5]})");
  const std::string p = "model.vision_tower.encoder.layers.0.";
  folder_.write("model.safetensors", file_of({{"model.vision_tower.patch_embedder.input_proj.weight", {8, 12}},
                                              {"model.vision_tower.patch_embedder.position_embedding_table", {2, 5, 8}},
                                              {p + "self_attn.q_proj.input_min", {}},
                                              {p + "self_attn.q_proj.linear.weight", {8, 8}},
                                              {p + "post_feedforward_layernorm.weight", {8}},
                                              {"model.embed_vision.embedding_projection.weight", {4, 8}}}));
  const auto source = opened();
  EXPECT_EQ(source->get_string("clip.projector_type").value(), "gemma4v");
  EXPECT_EQ(source->get_u32("clip.vision.projector.scale_factor").value(), 3U);
  EXPECT_EQ(source->get_u32("clip.vision.attention.head_dim").value(), 4U);
  EXPECT_THAT(source->get_f32_array("clip.vision.image_mean").value(), ElementsAre(0, 0, 0)) << "nothing is normed";
  EXPECT_EQ(source->find_tensor("v.patch_embd.weight")->dims, (std::vector<std::uint64_t>{2, 2, 3, 8}));
  const std::vector<float> kernel = numbers_of(*source, "v.patch_embd.weight");
  EXPECT_EQ(std::vector<float>(kernel.begin(), kernel.begin() + 12),
            (std::vector<float>{0, 3, 6, 9, 1, 4, 7, 10, 2, 5, 8, 11}))
      << "a channel's pixels lie together";
  EXPECT_EQ(source->find_tensor("v.position_embd.weight")->dims, (std::vector<std::uint64_t>{8, 5, 2}));
  EXPECT_EQ(source->find_tensor("v.blk.0.attn_q.input_min")->dims, (std::vector<std::uint64_t>{1}));
  EXPECT_NE(source->find_tensor("v.blk.0.ffn_post_norm.weight"), nullptr);
  EXPECT_NE(source->find_tensor("mm.input_projection.weight"), nullptr);
}

TEST_F(TowerFolder, Gemma4UnifiedsPixelsAndTablesBecomeTheFilesForm) {
  const auto config_with = [](const std::string& more) {
    return config(R"("patch_size": 1, "pooling_kernel_size": 2, "mm_embed_dim": 8, "mm_posemb_size": 5)" + more,
                  "Gemma4UnifiedForConditionalGeneration");
  };
  folder_.write("config.json", config_with(R"(, "output_proj_dims": 8)"));
  const std::string p = "model.vision_embedder.";
  folder_.write("model.safetensors", file_of({{p + "patch_ln1.weight", {12}},
                                              {p + "patch_dense.weight", {8, 12}},
                                              {p + "pos_embedding", {5, 2, 8}},
                                              {p + "pos_norm.bias", {8}},
                                              {"model.embed_audio.embedding_projection.weight", {4, 6}},
                                              {"model.embed_vision.embedding_projection.weight", {4, 8}}}));
  const auto source = opened();
  EXPECT_EQ(source->get_string("clip.projector_type").value(), "gemma4uv");
  EXPECT_EQ(source->get_u32("clip.vision.block_count").value(), 0U);
  EXPECT_EQ(source->get_u32("clip.vision.projector.scale_factor").value(), 2U);
  EXPECT_EQ(source->find_tensor("v.patch_embd.weight")->dims, (std::vector<std::uint64_t>{12, 8}));
  EXPECT_EQ(source->find_tensor("v.patch_norm.1.weight")->dims, (std::vector<std::uint64_t>{12}));
  const std::vector<float> by_channel = {0, 3, 6, 9, 1, 4, 7, 10, 2, 5, 8, 11};
  EXPECT_EQ(numbers_of(*source, "v.patch_norm.1.weight"), by_channel);
  const std::vector<float> matrix = numbers_of(*source, "v.patch_embd.weight");
  EXPECT_EQ(std::vector<float>(matrix.begin(), matrix.begin() + 12), by_channel);
  EXPECT_EQ(source->find_tensor("v.position_embd.weight")->dims, (std::vector<std::uint64_t>{8, 5, 2}));
  const std::vector<float> tables = numbers_of(*source, "v.position_embd.weight");
  EXPECT_EQ(tables[8], 16) << "the second place of the first table";
  EXPECT_EQ(tables[40], 8) << "the first place of the second table";
  EXPECT_EQ(source->find_tensor("v.patch_norm.3.bias")->dims, (std::vector<std::uint64_t>{8}));
  EXPECT_EQ(source->find_tensor("mm.input_projection.weight")->dims, (std::vector<std::uint64_t>{8, 4}));
  folder_.write("config.json", config_with(R"(, "output_proj_dims": 9)"));
  EXPECT_THAT(error(), HasSubstr("output_proj_dims is 9, expected 8"));
}

TEST_F(TowerFolder, Gemma4sTensorsOfOtherFormsAreRefused) {
  folder_.write("config.json", config(kGemmaVision, "Gemma4ForConditionalGeneration"));
  const auto with = [&](const std::string& name, const std::vector<std::uint64_t>& shape) {
    folder_.write("model.safetensors", file_of({{"model.vision_tower." + name, shape}}));
    return error();
  };
  EXPECT_THAT(with("patch_embedder.input_proj.weight", {8, 13}),
              HasSubstr("has 13 columns, expected three for each pixel of a square"));
  EXPECT_THAT(with("encoder.layers.0.self_attn.q_proj.input_min", {2}), HasSubstr("has 8 bytes, expected one number"));
  EXPECT_THAT(with("encoder.layers.0.self_attn.q_proj.bias", {8}), HasSubstr("has no place"));
  EXPECT_THAT(with("norm.0.weight", {8}), HasSubstr("has no place")) << "it has no DeepStack";
}

TEST_F(TowerFolder, Gemma3sNormsAreOneMoreThanTheCheckpoints) {
  const auto vision = [](int side) {
    return R"("num_hidden_layers": 1, "hidden_size": 8, "num_attention_heads": 2, "intermediate_size": 12,
      "patch_size": 2, "hidden_act": "gelu_pytorch_tanh", "image_size": )" +
           std::to_string(side);
  };
  folder_.write("config.json", config(vision(64), "Gemma3ForConditionalGeneration"));
  folder_.write("model.safetensors",
                file_of({{"model.vision_tower.vision_model.encoder.layers.0.mlp.fc1.weight", {12, 8}},
                         {"model.multi_modal_projector.mm_soft_emb_norm.weight", {8}},
                         {"model.multi_modal_projector.mm_input_projection_weight", {8, 4}}}));
  {
    const auto source = opened();
    EXPECT_EQ(source->get_string("clip.projector_type").value(), "gemma3");
    EXPECT_EQ(source->get_u32("clip.vision.projector.scale_factor").value(), 2U) << "256 tokens of 32 x 32 patches";
    std::vector<float> norm = counted(8);
    for (float& number : norm) number += 1;
    EXPECT_EQ(numbers_of(*source, "mm.soft_emb_norm.weight"), norm);
    EXPECT_EQ(source->find_tensor("mm.input_projection.weight")->dims, (std::vector<std::uint64_t>{4, 8}));
    EXPECT_NE(source->find_tensor("v.blk.0.ffn_up.weight"), nullptr);
  }
  folder_.write("config.json", config(vision(60), "Gemma3ForConditionalGeneration"));
  EXPECT_THAT(error(), HasSubstr("is 256, expected a square number whose root divides 30 patches"));
}

TEST_F(TowerFolder, PixtralsHeadsPairNeighbours) {
  folder_.write("config.json", config(R"("model_type": "pixtral", "num_hidden_layers": 1, "hidden_size": 8,
      "num_attention_heads": 2, "intermediate_size": 12, "patch_size": 2, "image_size": 64, "hidden_act": "silu")",
                                      "Mistral3ForConditionalGeneration"));
  folder_.write("preprocessor_config.json", R"({"size": {"longest_edge": 48}, "image_mean": [1, 2, 3]})");
  folder_.write("model.safetensors", file_of({{"vision_tower.transformer.layers.0.attention.q_proj.weight", {8, 1}},
                                              {"vision_tower.transformer.layers.0.attention.v_proj.weight", {8, 1}},
                                              {"multi_modal_projector.linear_1.weight", {4, 8}}}));
  const auto source = opened();
  EXPECT_EQ(source->get_u32("clip.vision.image_size").value(), 48U);
  EXPECT_EQ(source->find("clip.vision.spatial_merge_size"), nullptr);
  EXPECT_EQ(source->find("clip.vision.image_max_pixels"), nullptr) << "the longest edge is no number of pixels";
  EXPECT_EQ(numbers_of(*source, "v.blk.0.attn_q.weight"), (std::vector<float>{0, 2, 1, 3, 4, 6, 5, 7}));
  EXPECT_EQ(numbers_of(*source, "v.blk.0.attn_v.weight"), counted(8));
}

TEST_F(TowerFolder, QueriesKeysAndValuesOfQwen2BecomeATensorEach) {
  const auto config_with = [](std::string_view whole) {
    return config(fmt::format(R"("depth": 4, "hidden_size": 8, "num_heads": 2, "intermediate_size": 12, "patch_size": 2,
        "hidden_act": "silu", "window_size": 112, "fullatt_block_indexes": {})",
                              whole),
                  "Qwen2_5_VLForConditionalGeneration");
  };
  folder_.write("config.json", config_with("[1, 3]"));
  folder_.write("model.safetensors", file_of({{"visual.blocks.0.attn.qkv.weight", {24, 8}},
                                              {"visual.blocks.0.attn.qkv.bias", {24}},
                                              {"visual.blocks.0.mlp.gate_proj.weight", {12, 8}},
                                              {"visual.merger.ln_q.weight", {8}},
                                              {"visual.merger.mlp.2.bias", {4}}}));
  {
    const auto source = opened();
    EXPECT_EQ(source->get_string("clip.projector_type").value(), "qwen2.5vl_merger");
    EXPECT_EQ(source->get_u32("clip.vision.n_wa_pattern").value(), 2U);
    EXPECT_EQ(source->get_u32("clip.vision.spatial_merge_size").value(), 2U);
    EXPECT_EQ(numbers_of(*source, "v.blk.0.attn_k.weight").front(), 64);
    EXPECT_EQ(numbers_of(*source, "v.blk.0.attn_v.bias"), (std::vector<float>{16, 17, 18, 19, 20, 21, 22, 23}));
    EXPECT_NE(source->find_tensor("v.blk.0.ffn_gate.weight"), nullptr);
    EXPECT_NE(source->find_tensor("v.post_ln.weight"), nullptr);
  }
  for (const char* whole : {"[0, 3]", "[1]", "[]", "[1, 2]", "[-1, 3]"}) {
    folder_.write("config.json", config_with(whole));
    EXPECT_THAT(error(), HasSubstr("fullatt_block_indexes")) << whole;
  }
}

TEST_F(TowerFolder, FramesOfMuseGlimmersKernelAreAdded) {
  const auto config_with = [](std::string_view kinds) {
    return config(fmt::format(R"("num_hidden_layers": 5, "hidden_size": 8, "num_attention_heads": 2,
        "intermediate_size": 12, "patch_size": 2, "pos_emb_height": 4, "pos_emb_width": 4, "layer_types": {})",
                              kinds),
                  "MuseGlimmerForConditionalGeneration");
  };
  constexpr std::string_view kWindow = R"("window_attention")", kWhole = R"("full_attention")";
  const auto kinds = [&](std::string_view last) {
    return fmt::format("[{0}, {0}, {0}, {1}, {2}]", kWindow, kWhole, last);
  };
  folder_.write("config.json", config_with(kinds(kWhole)));
  folder_.write("preprocessor_config.json", R"({"max_image_tokens": 256})");
  folder_.write("model.safetensors", file_of({{"model.vision_tower.patch_embedder.patch_embedding.weight", {8, 24}},
                                              {"model.vision_tower.layers.0.attn.q_proj.weight", {8, 1}},
                                              {"model.vision_adapter.fc2.weight", {6, 6}},
                                              {"model.vision_projection.weight", {4, 6}}}));
  {
    const auto source = opened();
    EXPECT_EQ(source->find_tensor("v.patch_embd.weight")->dims, (std::vector<std::uint64_t>{2, 2, 3, 8}));
    EXPECT_EQ(numbers_of(*source, "v.patch_embd.weight")[1], 1 + 13);
    EXPECT_EQ(numbers_of(*source, "v.blk.0.attn_q.weight"), (std::vector<float>{0, 2, 1, 3, 4, 6, 5, 7}));
    EXPECT_NE(source->find_tensor("mm.1.weight"), nullptr);
    EXPECT_NE(source->find_tensor("mm.2.weight"), nullptr);
    EXPECT_EQ(source->get_u32("clip.vision.image_max_pixels").value(), 256U * 16);
  }
  folder_.write("config.json", config_with(kinds(kWindow)));
  EXPECT_THAT(error(), HasSubstr("layer_types has window_attention for layer 4, expected full_attention"));
}

TEST_F(TowerFolder, MiniCpmsRowsAreJoinedBehindALayer) {
  const auto written = [&](std::string_view more) {
    folder_.write("config.json", config(R"("num_hidden_layers": 3, "hidden_size": 8, "num_attention_heads": 2,
        "intermediate_size": 12, "patch_size": 2, "insert_layer_id": 1)",
                                        "MiniCPMV4_6ForConditionalGeneration"));
    folder_.write("preprocessor_config.json", more);
  };
  written(R"({"scale_resolution": 64, "max_slice_nums": 9})");
  folder_.write("model.safetensors", file_of({{"model.vision_tower.vit_merger.linear_1.weight", {48, 32}},
                                              {"model.merger.mlp.0.linear_2.bias", {4}}}));
  {
    const auto source = opened();
    EXPECT_EQ(source->get_u32("clip.vision.image_size").value(), 64U);
    EXPECT_EQ(source->get_i32_array("clip.vision.wa_layer_indexes").value(), (std::vector<std::int32_t>{1}));
    EXPECT_NE(source->find_tensor("v.vit_merger.ds_ffn_up.weight"), nullptr);
    EXPECT_NE(source->find_tensor("mm.down.bias"), nullptr);
  }
  written(R"({"downsample_mode": "4x"})");
  EXPECT_THAT(error(), HasSubstr("downsample_mode is '4x', expected 16x"));
  written(R"({"max_slice_nums": 3})");
  EXPECT_THAT(error(), HasSubstr("max_slice_nums is 3, expected 9"));
}

TEST_F(TowerFolder, NumbersOfPicturesThatLieAreRefused) {
  const auto with = [&](std::string_view text) {
    folder_.write("preprocessor_config.json", text);
    return error();
  };
  EXPECT_THAT(with(R"({"image_mean": [1, 2]})"), HasSubstr("image_mean has 2 numbers, expected 3"));
  EXPECT_THAT(with(R"({"image_std": [1, 2, "a"]})"), HasSubstr("expected numbers"));
  EXPECT_THAT(with(R"({"min_pixels": 9000000000})"), HasSubstr("min_pixels is 9000000000 pixels, expected at most"));
  EXPECT_THAT(with("[]"), HasSubstr("preprocessor_config.json"));
}

}  // namespace
}  // namespace octavo
