// A tiny folder of some family, its config.json and its safetensors changed at some bytes: it opens as a model, and as
// the encoder of pictures in it, whose tensors have the bytes that their types and shapes say, the same in any pieces,
// or it is an error; and opening it takes memory that is bounded by its files, whatever numbers stand in them. The
// first byte of input is the family, the second how many changes there are, up to three, and the number that experts of
// the checkpoint have in their names; three bytes are a change: two of the place, one of the value. Where a digit of
// the config stands, large values make it a larger number.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "fuzz_bytes.h"
#include "replaced_new.h"
#include "source/folder/folder_source.h"
#include "support/safetensors_writer.h"
#include "support/temp_folder.h"

namespace {

using octavo::test::SafetensorsWriter;

struct Tensor {
  const char* name;
  std::vector<std::uint64_t> shape;
  const char* dtype = "F32";
};
struct Folder {
  const char* model;
  std::vector<Tensor> tensors;
  const char* layer = "full_attention";
  const char* prefix = "model.layers.0.";  // in front of their names
};

const std::vector<Folder>& folders() {
  static const std::vector<Folder> kFolders = {
      {"LlamaForCausalLM", {{"self_attn.q_proj.weight", {8, 8}}, {"self_attn.k_proj.weight", {4, 8}, "BF16"}}},
      {"MixtralForCausalLM",
       {{"block_sparse_moe.experts.0.w2.weight", {8, 6}}, {"block_sparse_moe.experts.1.w2.weight", {8, 6}}}},
      {"Mistral3ForConditionalGeneration", {{"self_attn.q_proj.weight", {8, 8}, "F16"}}},
      {"Qwen3MoeForCausalLM", {{"mlp.experts.gate_up_proj", {2, 6, 8}}, {"mlp.experts.down_proj", {2, 8, 3}}}},
      {"Qwen3_5MoeForCausalLM",
       {{"linear_attn.in_proj_qkv.weight", {20, 8}},
        {"linear_attn.in_proj_z.weight", {12, 8}, "BF16"},
        {"linear_attn.in_proj_a.weight", {4, 8}},
        {"linear_attn.conv1d.weight", {20, 1, 4}},
        {"linear_attn.A_log", {4}},
        {"linear_attn.dt_bias", {4}},
        {"linear_attn.out_proj.weight", {8, 12}},
        {"mlp.shared_expert_gate.weight", {1, 8}}}},
      {"GptOssForCausalLM",
       {{"mlp.experts.gate_up_proj_blocks", {2, 4, 2, 16}, "U8"},
        {"mlp.experts.gate_up_proj_scales", {2, 4, 2}, "U8"},
        {"mlp.experts.gate_up_proj_bias", {2, 6}},
        {"mlp.experts.down_proj", {2, 6, 8}, "BF16"}},
       "sliding_attention"},
      {"GptOssForCausalLM",
       {{"mlp.experts.gate_up_proj", {2, 8, 6}}, {"mlp.router.weight", {2, 8}}},
       "sliding_attention"},
      {"Gemma3ForCausalLM", {{"pre_feedforward_layernorm.weight", {8}}}, "sliding_attention"},
      {"Gemma4ForCausalLM",
       {{"experts.gate_up_proj", {2, 6, 8}}, {"layer_scalar", {1}}, {"router.proj.weight", {2, 8}}}},
      {"Qwen3VLForConditionalGeneration",
       {{"patch_embed.proj.weight", {8, 3, 2, 2, 2}},
        {"pos_embed.weight", {9, 8}, "BF16"},
        {"blocks.0.attn.qkv.weight", {24, 8}, "F16"},
        {"deepstack_merger_list.0.norm.bias", {32}},
        {"merger.linear_fc2.weight", {8, 32}}},
       "full_attention",
       "model.visual."},
      {"Qwen3VLMoeForConditionalGeneration",
       {{"mlp.experts.gate_up_proj", {2, 8, 6}}, {"mlp.experts.down_proj", {2, 3, 8}, "BF16"}}},
      {"Qwen3NextForCausalLM",
       {{"linear_attn.in_proj_qkvz.weight", {32, 8}, "BF16"},
        {"linear_attn.in_proj_ba.weight", {8, 8}},
        {"linear_attn.conv1d.weight", {20, 1, 4}},
        {"linear_attn.A_log", {4}},
        {"linear_attn.out_proj.weight", {8, 12}}},
       "linear_attention"},
      {"Lfm2ForCausalLM", {{"conv.conv.weight", {8, 1, 3}}, {"conv.in_proj.weight", {24, 8}, "F16"}}, "conv"},
      {"Glm4MoeForCausalLM",
       {{"mlp.gate.e_score_correction_bias", {1, 2}},
        {"mlp.experts.1.up_proj.weight", {3, 8}},
        {"mlp.experts.0.up_proj.weight", {3, 8}}}},
      {"Ernie4_5_MoeForCausalLM", {{"mlp.moe_statics.e_score_correction_bias", {2}}}},
      {"HYV3ForCausalLM", {{"mlp.expert_bias", {2}, "BF16"}, {"mlp.shared_mlp.down_proj.weight", {8, 3}}}},
      {"Llama4ForCausalLM",
       {{"feed_forward.experts.gate_up_proj", {2, 8, 6}}, {"feed_forward.experts.down_proj", {2, 3, 8}, "BF16"}},
       "chunked_attention"},
      {"Step3p5ForCausalLM",
       {{"moe.gate_proj.weight", {2, 3, 8}}, {"moe.router_bias", {2}}, {"self_attn.g_proj.weight", {2, 8}, "BF16"}},
       "sliding_attention"},
      {"DeepseekV3ForCausalLM",
       {{"self_attn.kv_b_proj.weight", {10, 4}, "BF16"}, {"self_attn.kv_a_layernorm.weight", {4}}}},
      {"MiniCPM3ForCausalLM", {{"self_attn.kv_b_proj.weight", {10, 4}}}},
      {"MellumForCausalLM", {{"mlp.experts.gate_up_proj", {2, 6, 8}}}, "sliding_attention"},
  };
  return kFolders;
}

std::string config_of(const Folder& folder) {
  return std::string(R"({"architectures": [")") + folder.model + R"("], "hidden_size": 8, "num_hidden_layers": 1,
    "num_attention_heads": 2, "num_key_value_heads": 1, "head_dim": 4, "intermediate_size": 6, "vocab_size": 3,
    "rms_norm_eps": 1e-6, "max_position_embeddings": 64, "sliding_window": 8, "layer_types": [")" +
         folder.layer + R"("],
    "rope_theta": 1e4, "rope_scaling": {"rope_type": "yarn", "factor": 2, "original_max_position_embeddings": 32},
    "rope_parameters": {"full_attention": {"rope_theta": 1e6, "partial_rotary_factor": 0.5},
      "sliding_attention": {"rope_theta": 1e4}}, "num_experts": 2, "num_local_experts": 2, "num_experts_per_tok": 1,
    "top_k_experts": 1, "enable_moe_block": true, "moe_intermediate_size": 3, "shared_expert_intermediate_size": 5,
    "global_head_dim": 8, "num_global_key_value_heads": 1, "num_kv_shared_layers": 0, "linear_num_key_heads": 2,
    "linear_num_value_heads": 4, "linear_key_head_dim": 2, "linear_value_head_dim": 3, "linear_conv_kernel_dim": 4,
    "vision_config": {"depth": 1, "hidden_size": 8, "num_heads": 2, "intermediate_size": 12, "patch_size": 2,
      "spatial_merge_size": 2, "num_position_embeddings": 9, "deepstack_visual_indexes": [0]},
    "n_routed_experts": 2, "n_shared_experts": 1, "first_k_dense_replace": 0, "n_group": 2, "topk_group": 1,
    "routed_scaling_factor": 2.5, "router_scaling_factor": 2.5, "moe_num_experts": 2, "moe_k": 1,
    "moe_num_shared_experts": 2, "moe_layer_start_index": 0, "moe_layer_end_index": 0, "moe_layer_interval": 1,
    "intermediate_size_mlp": 12, "attention_chunk_size": 4, "share_expert_dim": 3, "swiglu_limits": [7.0],
    "num_shared_experts": 2, "conv_L_cache": 3, "block_multiple_of": 4, "block_ffn_dim_multiplier": 1.5,
    "kv_lora_rank": 4, "q_lora_rank": 6, "qk_nope_head_dim": 3, "qk_rope_head_dim": 2, "v_head_dim": 2,
    "tie_word_embeddings": true})";
}

/// The name with another number of the expert, if it has one.
std::string with_expert(std::string name, std::size_t which) {
  static constexpr std::array<const char*, 4> kNumbers = {"1.", "4095.", "4096.", "18446744073709551615."};
  const std::size_t place = name.find("experts.1.");
  return place == std::string::npos ? name : name.replace(place + 8, 2, kNumbers[which % kNumbers.size()]);
}

std::string checkpoint_of(const Folder& folder, std::size_t expert) {
  SafetensorsWriter writer;
  writer.add("model.embed_tokens.weight", "F32", {3, 8}, std::string(96, '\1'));
  for (const Tensor& tensor : folder.tensors) {
    const std::string_view dtype = tensor.dtype;
    std::size_t bytes = dtype == "U8" ? 1 : dtype == "F32" ? 4 : 2;
    for (const std::uint64_t dim : tensor.shape) bytes *= dim;
    writer.add(with_expert(std::string(folder.prefix) + tensor.name, expert), dtype, tensor.shape,
               std::string(bytes, '\2'));
  }
  return writer.bytes();
}

void check_tensors(const octavo::FolderSource& source) {
  const auto& tensors = source.tensors();
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const std::uint64_t size = tensors[i].tensor.bytes();
    if (i + 1 < tensors.size()) FUZZ_CHECK(tensors[i + 1].offset == tensors[i].offset + size);
    if (size > 1U << 16) continue;
    std::vector<std::byte> whole(size), piece(7);
    const bool is_read = source.read(tensors[i].offset, whole).has_value();
    for (std::uint64_t at = 0; is_read && at + piece.size() <= size; at += 5) {
      FUZZ_CHECK(source.read(tensors[i].offset + at, piece).has_value());
      FUZZ_CHECK(std::equal(piece.begin(), piece.end(), whole.begin() + static_cast<std::ptrdiff_t>(at)));
    }
  }
}

// A head of the most dimensions has a factor for each pair, whose vector grows as it is filled.
constexpr std::size_t kMostBytes = std::size_t{2} << 20;

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  const Folder& folder = folders()[data[0] % folders().size()];
  std::string config = config_of(folder), checkpoint = checkpoint_of(folder, data[1] / 4);
  const std::size_t num_changes = std::min<std::size_t>(data[1] % 4, (size - 2) / 3);
  for (std::size_t i = 2; i < 2 + 3 * num_changes; i += 3) {
    const std::size_t place = (data[i] + 256U * data[i + 1]) % (config.size() + checkpoint.size());
    if (place < config.size() && config[place] >= '0' && config[place] <= '9' && data[i + 2] >= 0xF0) {
      config.insert(place + 1, 1 + data[i + 2] % 16, '9');
      continue;
    }
    char& changed = place < config.size() ? config[place] : checkpoint[place - config.size()];
    changed = static_cast<char>(data[i + 2]);
  }
  static const octavo::test::TempFolder kPlace;
  kPlace.write("config.json", config);
  kPlace.write("model.safetensors", checkpoint);
  for (const bool is_tower : {false, true}) {
    const long before = octavo::test::num_allocated_bytes;
    const auto source =
        is_tower ? octavo::FolderSource::open_tower(kPlace.path()) : octavo::FolderSource::open(kPlace.path());
    const auto num_bytes = static_cast<std::size_t>(octavo::test::num_allocated_bytes - before);
    FUZZ_CHECK(num_bytes <= kMostBytes + 64 * (config.size() + checkpoint.size()));
    if (source) {
      check_tensors(*source);
    } else {
      const bool has_none = is_tower && std::string_view(folder.prefix) == "model.layers.0.";
      FUZZ_CHECK((num_changes > 0 || data[1] >= 4 || has_none) && !source.error().message.empty());
    }
  }
  return 0;
}
