#include "convert/type_mix.h"

#include <algorithm>
#include <cctype>
#include <map>

#include "base/joined.h"
#include "base/to_size.h"
#include "source/tensor_names.h"

namespace octavo {
namespace {

// Q4_K and Q5_K are other names for the medium mixes, as in llama.cpp.
constexpr TypeMix kMixes[] = {
    {.name = "F32", .base = DType::kF32, .file_type = 0},
    {.name = "F16", .base = DType::kF16, .file_type = 1},
    {.name = "BF16", .base = DType::kBF16, .file_type = 32},
    {.name = "Q8_0", .base = DType::kQ8_0, .file_type = 7},
    {.name = "Q4_0", .base = DType::kQ4_0, .file_type = 2},
    {.name = "Q4_1", .base = DType::kQ4_1, .file_type = 3},
    {.name = "Q5_0", .base = DType::kQ5_0, .file_type = 8},
    {.name = "Q5_1", .base = DType::kQ5_1, .file_type = 9},
    {.name = "Q4_K_S", .base = DType::kQ4_K, .file_type = 14, .more_first = true},
    {.name = "Q4_K_M", .base = DType::kQ4_K, .file_type = 15, .more_bits = true},
    {.name = "Q4_K", .base = DType::kQ4_K, .file_type = 15, .more_bits = true},
    {.name = "Q5_K_S", .base = DType::kQ5_K, .file_type = 16},
    {.name = "Q5_K_M", .base = DType::kQ5_K, .file_type = 17, .more_bits = true},
    {.name = "Q5_K", .base = DType::kQ5_K, .file_type = 17, .more_bits = true},
    {.name = "Q6_K", .base = DType::kQ6_K, .file_type = 18},
    {.name = "Q2_0", .base = DType::kQ2_0, .file_type = 41},
};

/// Whether a layer is in the first or the last eighth of the layers, or is every third one between.
bool is_sensitive(std::uint64_t layer, std::uint64_t num_layers) {
  const std::uint64_t eighth = num_layers / 8;
  return layer < eighth || layer >= 7 * num_layers / 8 || (layer - eighth) % 3 == 2;
}

bool is_embedding(std::string_view name) {
  return name == tensor_names::kEmbedding || name == tensor_names::kPerLayerTable;
}

/// Whether a mixture is of the size of Mixtral 8x7B: its attention is a small part, which is kept better.
bool has_eight_experts(const MixModel& model) { return model.num_experts == 8; }

/// Whether a model is dense with 80 layers whose heads share values: its value tensors are small beside the rest.
bool is_of_70b(const MixModel& model) {
  return model.num_layers == 80 && model.num_experts == 0 && model.num_kv_heads < model.num_heads;
}

DType value_type(const TypeMix& mix, const MixModel& model, const MixTensor& tensor) {
  DType type = mix.base;
  if (mix.more_bits && is_sensitive(tensor.value_index, model.num_value_tensors)) type = DType::kQ6_K;
  if (mix.more_first && tensor.value_index < 4) type = DType::kQ5_K;
  if (is_of_70b(model) && type == DType::kQ4_K) type = DType::kQ5_K;
  if (has_eight_experts(model)) type = DType::kQ8_0;
  return type;
}

DType down_type(const TypeMix& mix, const MixModel& model, const MixTensor& tensor) {
  if (mix.more_bits && is_sensitive(tensor.layer, model.num_layers)) return DType::kQ6_K;
  if (mix.more_first && tensor.layer < model.num_layers / 8) return DType::kQ5_K;
  return mix.base;
}

DType output_type(const TypeMix& mix, const MixTensor& tensor) {
  if (tensor.cols % to_size(dtype_info(mix.base).block_elements) != 0 || mix.base == DType::kQ8_0) return DType::kQ8_0;
  return DType::kQ6_K;
}

}  // namespace

std::optional<TypeMix> find_type_mix(std::string_view name) {
  const auto equal = [](char a, char b) {
    return std::toupper(static_cast<unsigned char>(a)) == std::toupper(static_cast<unsigned char>(b));
  };
  const auto found =
      std::ranges::find_if(kMixes, [&](const TypeMix& mix) { return std::ranges::equal(mix.name, name, equal); });
  if (found == std::end(kMixes)) return std::nullopt;
  return *found;
}

Result<TypeMix> parse_type_mix(const std::string& name) {
  const auto mix = find_type_mix(name);
  if (!mix) return fail("found type '{}', expected one of {}", name, type_mix_names());
  return *mix;
}

std::optional<TypeMix> float_mix_of(const ModelSource& source) {
  std::map<DType, std::uint64_t> bytes;
  for (const SourceTensor& tensor : source.tensors())
    if (takes_mix(tensor.name, tensor.dims.size()) && !is_quantized(tensor.tensor.type))
      bytes[tensor.tensor.type] += tensor.tensor.bytes();
  if (bytes.empty()) return std::nullopt;
  const DType most = std::ranges::max_element(bytes, {}, [](const auto& row) { return row.second; })->first;
  return find_type_mix(dtype_info(most).name);
}

std::string type_mix_names() { return joined(kMixes, &TypeMix::name); }

bool takes_mix(std::string_view name, std::size_t num_dims) {
  constexpr std::string_view kKept[] = {
      "_norm.weight", "ffn_gate_inp.weight",   "altup",         "laurel",      "per_layer_model_proj",
      "ssm_conv1d",   "shortconv.conv.weight", "position_embd", "token_types", "attn_rel_b.weight",
      "patch_embd"};
  if (num_dims < 2 || !name.ends_with("weight")) return false;
  return std::ranges::none_of(kKept, [&](std::string_view part) { return name.contains(part); });
}

bool is_value_tensor(std::string_view name) {
  return name.contains("attn_v.weight") || name.contains("attn_qkv.weight") || name.contains("attn_kv_b.weight");
}

DType mixed_type(const TypeMix& mix, const MixModel& model, const MixTensor& tensor) {
  if (!is_quantized(mix.base)) return mix.base;
  const std::string_view name = tensor.name;
  if (name == tensor_names::kOutput || (is_embedding(name) && !model.has_output)) return output_type(mix, tensor);
  if (is_embedding(name) && mix.base == DType::kQ2_0) return DType::kQ4_K;
  if (is_value_tensor(name)) return value_type(mix, model, tensor);
  if (name.contains("attn_k.weight") && has_eight_experts(model)) return DType::kQ8_0;
  if (name.contains("ffn_down")) return down_type(mix, model, tensor);
  if (name.contains("attn_output.weight") && has_eight_experts(model) && mix.base == DType::kQ4_K) return DType::kQ5_K;
  return mix.base;
}

DType fitting_type(DType type, std::uint64_t cols) {
  const auto fits = [&](DType tried) { return cols % to_size(dtype_info(tried).block_elements) == 0; };
  if (fits(type)) return type;
  DType smaller = type;
  if (type == DType::kQ4_K) smaller = DType::kQ5_0;
  if (type == DType::kQ5_K) smaller = DType::kQ5_1;
  if (type == DType::kQ6_K) smaller = DType::kQ8_0;
  if (type == DType::kQ2_0) smaller = DType::kQ4_0;
  return fits(smaller) ? smaller : DType::kF16;
}

}  // namespace octavo
