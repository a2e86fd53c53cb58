// Folders of a tiny llama and others, with numbers that tell where each came from.
#include "source/folder/folder_source.h"

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

constexpr std::string_view kLlama = R"({"architectures": ["LlamaForCausalLM"], "hidden_size": 4, "num_hidden_layers": 1,
  "num_attention_heads": 1, "intermediate_size": 6, "vocab_size": 3, "rms_norm_eps": 1e-5, "rope_theta": 10000.0,
  "max_position_embeddings": 64, "tie_word_embeddings": true MORE})";

std::string llama(std::string_view more = "") {
  std::string text(kLlama);
  return text.replace(text.find(" MORE"), 5, more);
}

std::string of_family(std::string_view model, std::string_view more = "") {
  constexpr std::string_view kName = "LlamaForCausalLM";
  std::string text = llama(more);
  return text.replace(text.find(kName), kName.size(), model);
}

std::vector<float> counted(std::size_t size, float first = 0) {
  std::vector<float> numbers(size);
  std::iota(numbers.begin(), numbers.end(), first);
  return numbers;
}

/// The tensors of kLlama, named and numbered; `is_in_file` tells which of them a file has.
template <class IsInFile>
std::string llama_file(const IsInFile& is_in_file, std::string_view prefix = "model.") {
  SafetensorsWriter writer;
  const auto add = [&](const std::string& name, const std::vector<std::uint64_t>& shape) {
    std::size_t size = 1;
    for (const std::uint64_t dim : shape) size *= dim;
    if (is_in_file(name)) writer.add(std::string(prefix) + name, "F32", shape, bytes_of(counted(size)));
  };
  add("embed_tokens.weight", {3, 4});
  add("norm.weight", {4});
  const std::string layer = "layers.0.";
  for (const std::string name : {"input_layernorm", "post_attention_layernorm"}) add(layer + name + ".weight", {4});
  for (const std::string name : {"q_proj", "k_proj", "v_proj", "o_proj"})
    add(layer + "self_attn." + name + ".weight", {4, 4});
  for (const std::string name : {"gate_proj", "up_proj"}) add(layer + "mlp." + name + ".weight", {6, 4});
  add(layer + "mlp.down_proj.weight", {4, 6});
  return writer.bytes();
}
std::string llama_file() {
  return llama_file([](const std::string&) { return true; });
}

class Folder : public testing::Test {
 protected:
  Folder() {
    folder_.write("config.json", llama());
    folder_.write("model.safetensors", llama_file());
  }
  Result<std::unique_ptr<const ModelSource>> open() { return open_model(folder_.path()); }
  std::unique_ptr<const ModelSource> opened() {
    auto source = open();
    EXPECT_TRUE(source) << source.error().message;
    return std::move(*source);
  }
  std::string error() {
    const auto source = open();
    return source ? "" : source.error().message;
  }
  static std::vector<float> numbers_of(const ModelSource& source, std::string_view name) {
    const SourceTensor* tensor = source.find_tensor(name);
    std::vector<float> numbers(tensor->tensor.bytes() / sizeof(float));
    EXPECT_TRUE(source.read(tensor->offset, std::as_writable_bytes(std::span(numbers))));
    return numbers;
  }

  test::TempFolder folder_;
};

TEST_F(Folder, HasGgufsKeysAndNames) {
  const auto source = opened();
  EXPECT_EQ(source->files().format, "safetensors");
  EXPECT_EQ(source->get_string("general.architecture").value(), "llama");
  EXPECT_EQ(source->get_u32("llama.block_count").value(), 1U);
  EXPECT_EQ(source->get_u32("llama.attention.head_count_kv").value(), 1U) << "as many as heads, where nothing is said";
  EXPECT_EQ(source->get_u32("llama.attention.key_length").value(), 4U);
  EXPECT_EQ(source->get_u32("llama.context_length").value(), 64U);
  EXPECT_EQ(source->get_f32("llama.rope.freq_base").value(), 10000.0F);
  const SourceTensor* down = source->find_tensor("blk.0.ffn_down.weight");
  ASSERT_NE(down, nullptr);
  EXPECT_EQ(down->dims, (std::vector<std::uint64_t>{6, 4})) << "the row's length first";
  EXPECT_EQ(down->tensor.rows, 4);
  EXPECT_EQ(numbers_of(*source, "blk.0.ffn_down.weight"), counted(24));
  EXPECT_EQ(source->tensors().size(), 11U);
  EXPECT_TRUE(begins_as_model(folder_.path()));
}

// A head's halves, rows 0 1 and 2 3, take turns: 0 2 1 3.
TEST_F(Folder, PutsTheRowsOfQAndKIntoGgufsOrder) {
  const auto source = opened();
  const auto ordered = testing::ElementsAre(0, 1, 2, 3, 8, 9, 10, 11, 4, 5, 6, 7, 12, 13, 14, 15);
  EXPECT_THAT(numbers_of(*source, "blk.0.attn_q.weight"), ordered);
  EXPECT_THAT(numbers_of(*source, "blk.0.attn_k.weight"), ordered);
  EXPECT_EQ(numbers_of(*source, "blk.0.attn_v.weight"), counted(16));
}

// Whatever piece is read, also across tensors, its bytes are those of the whole.
TEST_F(Folder, GivesTheSameBytesInAnyPieces) {
  const auto source = opened();
  const SourceTensor& last = source->tensors().back();
  const std::size_t total = last.offset + last.tensor.bytes();
  std::vector<std::byte> whole(total);
  ASSERT_TRUE(source->read(0, whole));
  for (const std::size_t piece : {1UL, 3UL, 7UL, 16UL, 100UL}) {
    for (std::size_t at = 0; at < total; at += piece) {
      std::vector<std::byte> bytes(std::min(piece, total - at));
      ASSERT_TRUE(source->read(at, bytes));
      ASSERT_TRUE(std::ranges::equal(bytes, std::span(whole).subspan(at, bytes.size()))) << piece << " at " << at;
    }
  }
  std::vector<std::byte> beyond(1);
  EXPECT_FALSE(source->read(total, beyond));
}

TEST_F(Folder, MayLieInSeveralFiles) {
  std::filesystem::remove(folder_.path() / "model.safetensors");
  const auto is_mlp = [](const std::string& name) { return name.contains("mlp"); };
  folder_.write("a.safetensors", llama_file(is_mlp));
  folder_.write("b.safetensors", llama_file([&](const std::string& name) { return !is_mlp(name); }));
  std::string map;
  for (const std::string name : {"gate_proj", "up_proj", "down_proj"})
    map += R"("model.layers.0.mlp.)" + name + R"(.weight": "a.safetensors",)";
  for (const std::string name : {"q_proj", "k_proj", "v_proj", "o_proj"})
    map += R"("model.layers.0.self_attn.)" + name + R"(.weight": "b.safetensors",)";
  for (const std::string name : {"layers.0.input_layernorm", "layers.0.post_attention_layernorm", "norm"})
    map += R"("model.)" + name + R"(.weight": "b.safetensors",)";
  const std::string embedding = R"("model.embed_tokens.weight": "b.safetensors")";
  const auto write_index = [&](const std::string& rows) {
    folder_.write("model.safetensors.index.json", R"({"weight_map": {)" + rows + "}}");
  };
  write_index(map + embedding);
  EXPECT_EQ(opened()->files().num_files, 2U);
  EXPECT_EQ(numbers_of(*opened(), "blk.0.ffn_down.weight"), counted(24));

  write_index(map + embedding + R"(, "lm_head.weight": "b.safetensors")");
  EXPECT_THAT(error(), HasSubstr("b.safetensors: lacks tensor 'lm_head.weight'"));
  write_index(map.substr(0, map.size() - 1));
  EXPECT_THAT(error(), HasSubstr("b.safetensors: has tensor 'model.embed_tokens.weight', which"));
  write_index(map + R"("model.embed_tokens.weight": "c.safetensors")");
  EXPECT_THAT(error(), HasSubstr("c.safetensors"));
  write_index(map + R"("model.embed_tokens.weight": "../b.safetensors")");
  EXPECT_THAT(error(), HasSubstr("expected the name of a file beside it"));
  write_index("");
  EXPECT_THAT(error(), HasSubstr("names 0 files"));
}

TEST_F(Folder, HunyuansBaseGrowsByAKeyOfItsOwn) {
  folder_.write("config.json",
                of_family("HunYuanDenseV1ForCausalLM", R"(, "rope_scaling": {"type": "dynamic", "alpha": 1000.0})"));
  const auto source = opened();
  EXPECT_EQ(source->get_f32("hunyuan-dense.rope.freq_base").value(), 10000.0F);
  EXPECT_EQ(source->get_f32("hunyuan-dense.rope.scaling.alpha").value(), 1000.0F);
}

TEST_F(Folder, CommandRHasAScaleOfLogits) {
  folder_.write("config.json", of_family("CohereForCausalLM", R"(, "logit_scale": 0.0625)"));
  EXPECT_EQ(opened()->get_f32("command-r.logit_scale").value(), 0.0625F);
  folder_.write("config.json", of_family("CohereForCausalLM"));
  EXPECT_THAT(error(), HasSubstr("logit_scale is missing"));
}

TEST_F(Folder, APatternOfWindowsMayBeAText) {
  const auto with_pattern = [](const std::string& pattern) {
    return of_family("Exaone4ForCausalLM", R"(, "sliding_window": 8, "sliding_window_pattern": )" + pattern);
  };
  for (const char* pattern : {"\"LLLG\"", "4", "null"}) {
    folder_.write("config.json", with_pattern(pattern));
    EXPECT_EQ(opened()->get_u64("exaone4.attention.sliding_window").value(), 8U) << pattern;
  }
  folder_.write("config.json", with_pattern("\"LLG\""));
  EXPECT_THAT(error(), HasSubstr("sliding_window_pattern is 'LLG', expected LLLG"));
  folder_.write("config.json", with_pattern("3"));
  EXPECT_THAT(error(), HasSubstr("sliding_window_pattern is 3, expected 4"));
}

TEST_F(Folder, Lfm2SaysWhichLayersAttendAndWhatItsFeedForwardIsMadeOf) {
  const auto with = [&](const std::string& more) {
    folder_.write("config.json", of_family("Lfm2ForCausalLM", R"(, "norm_eps": 1e-5, "conv_L_cache": 3, )" + more));
  };
  for (const char* layers : {R"("layer_types": ["full_attention"])", R"("full_attn_idxs": [0])"}) {
    with(std::string(layers) + R"(, "block_ff_dim": 100, "block_multiple_of": 32)");
    const auto source = opened();
    EXPECT_EQ(source->get_u64("lfm2.feed_forward_length").value(), 96U) << "two thirds, rounded up";
    EXPECT_EQ(source->get_u64("lfm2.shortconv.l_cache").value(), 3U);
    EXPECT_FLOAT_EQ(source->get_f32("lfm2.attention.layer_norm_rms_epsilon").value(), 1e-5F);
  }
  with(R"("full_attn_idxs": [0], "intermediate_size": 100, "block_auto_adjust_ff_dim": false)");
  EXPECT_EQ(opened()->get_u64("lfm2.feed_forward_length").value(), 100U);
  with(R"("full_attn_idxs": [1])");
  EXPECT_THAT(error(), HasSubstr("full_attn_idxs: found 1, expected a layer from 0 to 0"));
  with(R"("num_hidden_layers": 0, "full_attn_idxs": [0])");
  EXPECT_THAT(error(), HasSubstr("num_hidden_layers is 0, expected 1 to 4096"));
  with(R"("full_attn_idxs": [0], "conv_bias": true)");
  EXPECT_THAT(error(), HasSubstr("conv_bias is true: this is not supported"));
  with(R"("num_hidden_layers": 1)");
  EXPECT_THAT(error(), HasSubstr("full_attn_idxs are missing"));
  with(R"("full_attn_idxs": [0], "block_ffn_dim_multiplier": -1.0)");
  EXPECT_THAT(error(), HasSubstr("block_ffn_dim_multiplier is -1"));
}

TEST_F(Folder, Lfm3HasWindowsABaseOfTheirsAndFactorsOfTheOtherLayers) {
  const auto with = [&](const std::string& more, const std::string& type = "proportional") {
    folder_.write("config.json", of_family("Lfm3ForCausalLM", R"(, "norm_eps": 1e-5, "conv_L_cache": 7,
      "sliding_window": 8, "layer_types": ["full_attention"], "rope_parameters": {
      "sliding_attention": {"rope_type": "default", "rope_theta": 10000.0}, "full_attention": {"rope_type": ")" +
                                                                  type + R"(",
      "rope_theta": 1000000.0, "partial_rotary_factor": 0.5}})" + more));
  };
  with("");
  const auto source = opened();
  EXPECT_EQ(source->get_f32("lfm3.rope.freq_base").value(), 1e6F);
  EXPECT_EQ(source->get_f32("lfm3.rope.freq_base_swa").value(), 1e4F);
  EXPECT_EQ(numbers_of(*source, "rope_freqs.weight"), (std::vector{1.0F, 1e30F}));
  with("", "yarn");
  EXPECT_THAT(error(), HasSubstr("rope_type is 'yarn' with a factor of 1, expected proportional with 1"));
  with(R"(, "use_attention_gate": false)");
  EXPECT_THAT(error(), HasSubstr("use_attention_gate is false: this is not supported"));
  with(R"(, "layer_types": null)");
  EXPECT_THAT(error(), HasSubstr("layer_types is missing"));
}

TEST_F(Folder, RefusesWhatItDoesNotKnow) {
  folder_.write("config.json", R"({"architectures": ["OPTModel"]})");
  EXPECT_THAT(error(), HasSubstr("architectures is 'OPTModel', supported are LlamaForCausalLM"));
  folder_.write("config.json", "{}");
  EXPECT_THAT(error(), HasSubstr("config.json: architectures names no model"));
  folder_.write("config.json", llama(R"(, "quantization_config": {"quant_method": "awq"})"));
  EXPECT_THAT(error(), HasSubstr("quantized by 'awq'"));
  folder_.write("config.json", llama(R"(, "hidden_act": "relu")"));
  EXPECT_THAT(error(), HasSubstr("hidden_act is 'relu'"));
  folder_.write("config.json", llama(R"(, "rope_scaling": {"rope_type": "dynamic", "factor": 2.0})"));
  EXPECT_THAT(error(), HasSubstr("rope_scaling.rope_type is 'dynamic', supported are"));
  folder_.write("config.json", llama(R"(, "tie_word_embeddings": false)"));
  EXPECT_THAT(error(), HasSubstr("tie_word_embeddings is false, but the checkpoint has no lm_head.weight"));
  folder_.write("config.json", llama(R"(, "num_attention_heads": 3)"));
  EXPECT_THAT(error(), HasSubstr("4 is no multiple of the 3 heads"));
  folder_.write("config.json", std::string(2 << 20, ' '));
  EXPECT_THAT(error(), HasSubstr("expected at most"));
}

TEST_F(Folder, RefusesLayersWithoutPositionsThatAreNotTheFamilys) {
  const auto error_with = [&](const std::string& more) {
    folder_.write("config.json", llama(R"(, "architectures": ["SmolLM3ForCausalLM"], )" + more));
    return error();
  };
  EXPECT_EQ(error_with(R"("no_rope_layers": [1], "no_rope_layer_interval": 4)"), "");
  EXPECT_EQ(error_with(R"("no_rope_layer_interval": 4)"), "");
  EXPECT_THAT(error_with(R"("no_rope_layers": [0])"), HasSubstr("no_rope_layers: expected 1 for layer 0"));
  EXPECT_THAT(error_with(R"("no_rope_layer_interval": 3)"), HasSubstr("no_rope_layer_interval is 3, expected 4"));
}

TEST_F(Folder, ComparesANumberWithABoundBeforeItIsALoops) {
  constexpr std::string_view kRope = R"(, "rope_scaling": {"rope_type": "llama3", "factor": 8.0,
    "low_freq_factor": 1.0, "high_freq_factor": 4.0, "original_max_position_embeddings": 8192})";
  const auto with = [&](const std::string& more) {
    folder_.write("config.json", llama(std::string(kRope) + ", " + more));
    return error();
  };
  EXPECT_THAT(with(R"("head_dim": 1000000000)"),
              HasSubstr("head_dim: found heads of 1000000000 dimensions, expected at most 65536"));
  EXPECT_THAT(with(R"("head_dim": 1000000000000000)"), HasSubstr("expected at most 65536"));
  EXPECT_THAT(with(R"("hidden_size": 16777216)"), HasSubstr("hidden_size: found heads of 16777216 dimensions"));
  for (const std::string name : {"num_hidden_layers", "hidden_size", "vocab_size"})
    EXPECT_THAT(with("\"" + name + R"(": 16777217)"), HasSubstr(name + " is 16777217, expected at most 16777216"));
  std::string kinds = R"("full_attention")";
  for (int i = 0; i < 4096; ++i) kinds += R"(, "full_attention")";
  folder_.write("config.json", llama(R"(, "architectures": ["Gemma3ForCausalLM"], "sliding_window": 4,
                                      "layer_types": [)" +
                                     kinds + "]"));
  EXPECT_THAT(error(), HasSubstr("layer_types has 4097 kinds, expected at most 4096"));
}

TEST_F(Folder, TheNumberOfAnExpertIsNoSize) {
  folder_.write("config.json", llama(R"(, "architectures": ["MixtralForCausalLM"], "num_local_experts": 3,
                                        "num_experts_per_tok": 2)"));
  SafetensorsWriter writer;
  constexpr int kNames = 400;
  for (int i = 0; i < kNames; ++i)
    writer.add(fmt::format("model.layers.{}.block_sparse_moe.experts.4095.w2.weight", i), "F32", {1, 1}, "1234");
  folder_.write("model.safetensors", writer.bytes());
  EXPECT_THAT(error(), HasSubstr("blk.0.ffn_down_exps.weight: expert 0 is missing"));
}

TEST_F(Folder, NamesATensorOfTheIndexThatNoFileHas) {
  std::filesystem::rename(folder_.path() / "model.safetensors", folder_.path() / "a.safetensors");
  std::string map = R"("model.layers.0.mlp.gate_proj.weight": "a.safetensors")";
  for (const std::string name : {"mlp.up_proj", "mlp.down_proj", "self_attn.q_proj", "self_attn.k_proj",
                                 "self_attn.v_proj", "self_attn.o_proj", "input_layernorm", "post_attention_layernorm"})
    map += R"(, "model.layers.0.)" + name + R"(.weight": "a.safetensors")";
  map += R"(, "model.norm.weight": "a.safetensors", "model.embed_tokens.weight": "a.safetensors")";
  for (int i = 0; i < 1000; ++i) map += fmt::format(R"(, "x{}": "a.safetensors")", i);
  folder_.write("model.safetensors.index.json", R"({"weight_map": {)" + map + "}}");
  EXPECT_THAT(error(), HasSubstr("a.safetensors: lacks tensor 'x0', which model.safetensors.index.json expects there"));
}

TEST_F(Folder, RefusesTensorsThatHaveNoPlace) {
  const auto with = [&](std::string_view name, std::string_view dtype, const std::vector<std::uint64_t>& shape,
                        std::string_view data) {
    folder_.write("model.safetensors", SafetensorsWriter().add(name, dtype, shape, data).bytes());
    return error();
  };
  EXPECT_THAT(with("model.layers.0.self_attn.r_proj.weight", "F32", {1, 1}, "1234"),
              HasSubstr("tensor 'model.layers.0.self_attn.r_proj.weight' has no place in a model of LlamaForCausalLM"));
  EXPECT_THAT(with("model.norm.weight", "I32", {1}, "1234"), HasSubstr("has type 'I32', supported are F32, F16, BF16"));
  EXPECT_THAT(with("model.norm.weight", "F32", {1, 1, 1}, "1234"), HasSubstr("has 3 dimensions"));
  EXPECT_THAT(with("model.layers.0.self_attn.q_proj.weight", "F32", {1, 1}, "1234"), HasSubstr("has 1 rows"));
  EXPECT_THAT(with("model.layers.0.self_attn.rotary_emb.inv_freq", "F32", {1}, "1234"), "")
      << "the config gives it, too";
}

TEST_F(Folder, NeedsAConfigAndACheckpoint) {
  std::filesystem::remove(folder_.path() / "model.safetensors");
  EXPECT_THAT(error(), HasSubstr("found neither model.safetensors nor model.safetensors.index.json"));
  std::filesystem::remove(folder_.path() / "config.json");
  EXPECT_THAT(error(), HasSubstr("is a folder without config.json"));
  EXPECT_FALSE(begins_as_model(folder_.path()));
}

TEST_F(Folder, MergesExpertsAndNamesAMissingOne) {
  const std::string config = llama(R"(, "architectures": ["MixtralForCausalLM"], "num_local_experts": 3,
                                        "num_experts_per_tok": 2)");
  folder_.write("config.json", config);
  const auto write = [&](std::size_t missing) {
    SafetensorsWriter writer;
    for (std::size_t e = 3; e-- > 0;) {
      if (e == missing) continue;
      writer.add("model.layers.0.block_sparse_moe.experts." + std::to_string(e) + ".w2.weight", "F32", {1, 4},
                 bytes_of(counted(4, static_cast<float>(10 * e))));
    }
    folder_.write("model.safetensors", writer.bytes());
  };
  write(9);
  const auto source = opened();
  EXPECT_EQ(source->get_u32("llama.expert_count").value(), 3U);
  EXPECT_EQ(source->find_tensor("blk.0.ffn_down_exps.weight")->dims, (std::vector<std::uint64_t>{4, 1, 3}));
  EXPECT_THAT(numbers_of(*source, "blk.0.ffn_down_exps.weight"),
              ElementsAre(0, 1, 2, 3, 10, 11, 12, 13, 20, 21, 22, 23));
  write(1);
  EXPECT_THAT(error(), HasSubstr("blk.0.ffn_down_exps.weight: expert 1 is missing"));
}

TEST_F(Folder, AddsOneToTheNormsOfGemma) {
  folder_.write("config.json", R"({"architectures": ["Gemma3ForConditionalGeneration"], "text_config": {
    "hidden_size": 4, "num_hidden_layers": 1, "num_attention_heads": 1, "intermediate_size": 6, "vocab_size": 3,
    "rms_norm_eps": 1e-5, "rope_theta": 1e6, "rope_local_base_freq": 5000.0, "max_position_embeddings": 64,
    "sliding_window": 16, "head_dim": 4, "query_pre_attn_scalar": 4}})");
  folder_.write("model.safetensors",
                SafetensorsWriter()
                    .add("language_model.model.norm.weight", "F32", {4}, bytes_of(counted(4)))
                    .add("language_model.model.layers.0.pre_feedforward_layernorm.weight", "F32", {1}, bytes_of(0.5F))
                    .add("vision_tower.patch.weight", "I8", {4}, "abcd")
                    .bytes());
  const auto source = opened();
  EXPECT_THAT(numbers_of(*source, "output_norm.weight"), ElementsAre(1, 2, 3, 4));
  EXPECT_THAT(numbers_of(*source, "blk.0.ffn_norm.weight"), ElementsAre(1.5F));
  EXPECT_EQ(source->tensors().size(), 2U) << "other parts of the model are left out";
  EXPECT_EQ(source->get_f32("gemma3.rope.freq_base_swa").value(), 5000.0F);
  EXPECT_EQ(source->get_u32("gemma3.attention.sliding_window").value(), 16U);
}

TEST_F(Folder, RefusesExpertsThatFitNoForm) {
  folder_.write("config.json", llama(R"(, "architectures": ["GptOssForCausalLM"], "sliding_window": 8,
    "num_local_experts": 2, "num_experts_per_tok": 1, "quantization_config": {"quant_method": "mxfp4"})"));
  const std::string experts = "model.layers.0.mlp.experts.";
  const auto with = [&](std::string_view name, const std::vector<std::uint64_t>& shape, std::string_view dtype = "U8") {
    std::size_t size = dtype == "U8" ? 1 : 4;
    for (const std::uint64_t dim : shape) size *= dim;
    SafetensorsWriter writer;
    writer.add(experts + "down_proj_blocks", "U8", {2, 4, 1, 16}, std::string(128, 'c'));
    writer.add(experts + std::string(name), dtype, shape, std::string(size, 's'));
    folder_.write("model.safetensors", writer.bytes());
    return error();
  };
  EXPECT_EQ(with("down_proj_scales", {2, 4, 1}), "");
  EXPECT_EQ(opened()->find_tensor("blk.0.ffn_down_exps.weight")->dims, (std::vector<std::uint64_t>{32, 4, 2}));
  EXPECT_THAT(with("down_proj_scales", {2, 4, 2}), HasSubstr("expected one U8 for each block of 'model.layers.0"));
  EXPECT_THAT(with("down_proj_bias", {2, 4}, "F32"), HasSubstr("blk.0.ffn_down_exps.weight: scales of it"));
  EXPECT_THAT(with("gate_up_proj_scales", {2, 4, 1}), HasSubstr("blk.0.ffn_down_exps.weight: scales of it"));
  EXPECT_THAT(with("gate_up_proj", {2, 4, 3}, "F32"), HasSubstr("has dimension 2 of 3, expected an even number"));
  EXPECT_THAT(with("gate_up_proj", {8, 3}, "F32"), HasSubstr("has 2 dimensions, expected 3 that are not 0"));
}

TEST_F(Folder, RefusesHeadsOfADeltaNetThatFitNoTensor) {
  const auto config = [&](int key_heads) {
    folder_.write("config.json", llama(fmt::format(R"(, "architectures": ["Qwen3_5ForCausalLM"],
      "linear_num_key_heads": {}, "linear_num_value_heads": 4, "linear_key_head_dim": 2, "linear_value_head_dim": 1,
      "linear_conv_kernel_dim": 4)",
                                                   key_heads)));
  };
  config(2);
  const auto with = [&](std::string_view name, const std::vector<std::uint64_t>& shape) {
    std::size_t size = 4;
    for (const std::uint64_t dim : shape) size *= dim;
    folder_.write("model.safetensors",
                  SafetensorsWriter()
                      .add("model.layers.0.linear_attn." + std::string(name), "F32", shape, std::string(size, '\0'))
                      .bytes());
    return error();
  };
  EXPECT_EQ(with("A_log", {4}), "");
  EXPECT_THAT(numbers_of(*opened(), "blk.0.ssm_a"), ElementsAre(-1, -1, -1, -1));
  EXPECT_THAT(with("A_log", {3}), HasSubstr("has 3 rows, expected 4"));
  EXPECT_THAT(with("in_proj_qkv.weight", {10, 2}), HasSubstr("has 10 rows, expected 12"));
  EXPECT_THAT(with("out_proj.weight", {4, 5}), HasSubstr("has 5 columns, expected 4 heads of 1"));
  EXPECT_THAT(with("conv1d.weight", {12, 2, 4}), HasSubstr("has 2 channels a group, expected 1"));
  config(3);
  EXPECT_THAT(error(), HasSubstr("linear_num_value_heads is 4, expected a multiple of 3 key heads"));
}

TEST_F(Folder, StretchesContextsAsLlama3Does) {
  folder_.write("config.json", llama(R"(, "head_dim": 8, "rope_scaling": {"rope_type": "llama3", "factor": 8.0,
    "low_freq_factor": 1.0, "high_freq_factor": 4.0, "original_max_position_embeddings": 8192})"));
  // From transformers' _compute_llama3_parameters: frequencies without scaling divided by those with it.
  const auto source = opened();
  EXPECT_THAT(numbers_of(*source, "rope_freqs.weight"),
              testing::Pointwise(testing::FloatNear(1e-4F), {1.0F, 1.0F, 1.0F, 4.68148F}));
}

TEST_F(Folder, ReadsWordsTemplateAndDefaults) {
  folder_.write("tokenizer.json", R"({"version": "1.0"})");
  folder_.write("tokenizer_config.json", R"({"chat_template": [{"name": "tool_use", "template": "no"},
                                                            {"name": "default", "template": "from the list"}]})");
  folder_.write("generation_config.json", R"({"eos_token_id": [2, 1], "bos_token_id": 0, "temperature": 0.6,
                                             "top_k": 20, "top_p": 0.9, "repetition_penalty": 1.1})");
  const auto source = opened();
  EXPECT_EQ(source->get_string("tokenizer.huggingface.json").value(), R"({"version": "1.0"})");
  EXPECT_EQ(source->get_string("tokenizer.chat_template").value(), "from the list");
  EXPECT_EQ(source->get_u32("tokenizer.ggml.eos_token_id").value(), 2U);
  EXPECT_THAT(source->get_i32_array("tokenizer.ggml.eos_token_ids").value(), ElementsAre(2, 1));
  EXPECT_EQ(source->get_u32("tokenizer.ggml.bos_token_id").value(), 0U);
  EXPECT_EQ(source->get_f32("general.sampling.temp").value(), 0.6F);
  EXPECT_EQ(source->get_u32("general.sampling.top_k").value(), 20U);
  folder_.write("chat_template.jinja", "from the file");
  EXPECT_EQ(opened()->get_string("tokenizer.chat_template").value(), "from the file");
}

TEST_F(Folder, BadWordsAreIdsWithAMinusOneBehindEach) {
  folder_.write("generation_config.json", R"({"bad_words_ids": [[5], [3, 7]], "suppress_tokens": [9]})");
  EXPECT_THAT(opened()->get_i32_array("general.sampling.bad_words_ids").value(), ElementsAre(5, -1, 3, 7, -1));
  EXPECT_THAT(opened()->get_i32_array("tokenizer.ggml.suppress_tokens").value(), ElementsAre(9));
  for (const char* none : {"null", "[]"}) {
    folder_.write("generation_config.json", R"({"bad_words_ids": )" + std::string(none) + "}");
    EXPECT_FALSE(opened()->get_i32_array("general.sampling.bad_words_ids")) << none;
  }
  for (const char* wrong : {"5", "[5]", "[[]]", "[[-1]]", R"([["a"]])"}) {
    folder_.write("generation_config.json", R"({"bad_words_ids": )" + std::string(wrong) + "}");
    const auto source = open_model(folder_.path());
    ASSERT_FALSE(source) << wrong;
    EXPECT_THAT(source.error().message, HasSubstr("bad_words_ids")) << wrong;
  }
}

TEST_F(Folder, TheEndTokenOfTheWordsEndsAnswersToo) {
  const std::string added =
      R"("added_tokens_decoder": {"7": {"content": "<|im_end|>"}, "x": {"content": "y"}, "9": 3})";
  folder_.write("tokenizer_config.json", R"({"eos_token": "<|im_end|>", )" + added + "}");
  EXPECT_EQ(opened()->get_u32("tokenizer.ggml.eos_token_id").value(), 7U) << "nobody else names one";
  folder_.write("generation_config.json", R"({"eos_token_id": 2})");
  EXPECT_EQ(opened()->get_u32("tokenizer.ggml.eos_token_id").value(), 2U);
  EXPECT_THAT(opened()->get_i32_array("tokenizer.ggml.eos_token_ids").value(), ElementsAre(2, 7));
  folder_.write("generation_config.json", R"({"eos_token_id": [7, 2]})");
  EXPECT_THAT(opened()->get_i32_array("tokenizer.ggml.eos_token_ids").value(), ElementsAre(7, 2));
  folder_.write("tokenizer_config.json", R"({"eos_token": {"content": "<|im_end|>"}, )" + added + "}");
  folder_.write("generation_config.json", "{}");
  EXPECT_EQ(opened()->get_u32("tokenizer.ggml.eos_token_id").value(), 7U);
  folder_.write("tokenizer_config.json", R"({"eos_token": "<|no such token|>", )" + added + "}");
  EXPECT_FALSE(opened()->get_u32("tokenizer.ggml.eos_token_id"));
}

TEST_F(Folder, TellsOfAFileThatWasCutShort) {
  const auto source = opened();
  std::filesystem::resize_file(folder_.path() / "model.safetensors", 1200);
  const SourceTensor& last = source->tensors().back();
  std::vector<std::byte> bytes(last.tensor.bytes());
  const auto read = source->read(last.offset, bytes);
  ASSERT_FALSE(read);
  EXPECT_THAT(read.error().message, HasSubstr("model.safetensors"));
}

}  // namespace
}  // namespace octavo
