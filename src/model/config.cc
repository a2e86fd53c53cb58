#include "model/config.h"

#include <cmath>
#include <limits>

#include "gguf/text.h"

namespace octavo {
namespace {

constexpr ArchitectureInfo kArchitectures[] = {
    {.name = "llama",
     .rope_pairs = RopePairs::kNeighbours,
     .qkv_bias = Presence::kOptional,
     .qk_norm = Presence::kAbsent,
     .rope_factors = Presence::kOptional,
     .post_norms = false,
     .activation = Activation::kSilu,
     .scale_embedding = false,
     .global_layer_every = 0,
     .local_rope_base = 0,
     .default_rope_base = 10000.0,  // files of the first Llama models leave it out
     .width_scale_layers = 0},
    {.name = "qwen2",
     .rope_pairs = RopePairs::kHalves,
     .qkv_bias = Presence::kRequired,
     .qk_norm = Presence::kAbsent,
     .rope_factors = Presence::kAbsent,
     .post_norms = false,
     .activation = Activation::kSilu,
     .scale_embedding = false,
     .global_layer_every = 0,
     .local_rope_base = 0,
     .default_rope_base = 0,
     .width_scale_layers = 0},
    {.name = "qwen3",
     .rope_pairs = RopePairs::kHalves,
     .qkv_bias = Presence::kAbsent,
     .qk_norm = Presence::kRequired,
     .rope_factors = Presence::kAbsent,
     .post_norms = false,
     .activation = Activation::kSilu,
     .scale_embedding = false,
     .global_layer_every = 0,
     .local_rope_base = 0,
     .default_rope_base = 0,
     .width_scale_layers = 0},
    {.name = "gemma3",
     .rope_pairs = RopePairs::kHalves,
     .qkv_bias = Presence::kAbsent,
     .qk_norm = Presence::kRequired,
     .rope_factors = Presence::kAbsent,
     .post_norms = true,
     .activation = Activation::kGeluTanh,
     .scale_embedding = true,
     .global_layer_every = 6,
     .local_rope_base = 10000.0,
     .default_rope_base = 0,
     .width_scale_layers = 62},  // the 27B model
};

constexpr int kMaxSize = 1 << 24;  // no size of a model comes near; keeps every product within 64 bits

/// Reads keys "ARCH.suffix" as checked positive integers.
class KeyReader {
 public:
  KeyReader(const GgufFile& file, std::string_view arch) : file_(file), arch_(arch) {}

  std::string key(std::string_view suffix) const { return fmt::format("{}.{}", arch_, suffix); }
  bool has(std::string_view suffix) const { return file_.find(key(suffix)) != nullptr; }

  Result<int> size(std::string_view suffix) const {
    OCTAVO_TRY(const std::uint64_t value, file_.get_u64(key(suffix)));
    if (value == 0 || value > kMaxSize)
      return fail("{}: {} is {}, expected 1 to {}", file_.path().string(), key(suffix), value, kMaxSize);
    return static_cast<int>(value);
  }
  Result<int> size_or(std::string_view suffix, int otherwise) const {
    if (!has(suffix)) return otherwise;
    return size(suffix);
  }
  Result<double> positive(std::string_view suffix) const {
    OCTAVO_TRY(const float value, file_.get_f32(key(suffix)));
    if (!(value > 0) || !std::isfinite(value))
      return fail("{}: {} is {}, expected a positive number", file_.path().string(), key(suffix), value);
    return static_cast<double>(value);
  }

 private:
  const GgufFile& file_;
  std::string_view arch_;
};

Result<void> load_heads(const GgufFile& file, const KeyReader& keys, ModelConfig& config) {
  const std::string path = file.path().string();
  OCTAVO_TRY(config.num_heads, keys.size("attention.head_count"));
  OCTAVO_TRY(config.num_kv_heads, keys.size_or("attention.head_count_kv", config.num_heads));
  if (config.num_heads % config.num_kv_heads != 0)
    return fail("{}: {} is {}, not a multiple of {}, which is {}", path, keys.key("attention.head_count"),
                config.num_heads, keys.key("attention.head_count_kv"), config.num_kv_heads);
  if (!keys.has("attention.key_length") && config.width % config.num_heads != 0)
    return fail("{}: {} is missing and {} ({}) is not a multiple of the {} heads", path,
                keys.key("attention.key_length"), keys.key("embedding_length"), config.width, config.num_heads);
  OCTAVO_TRY(config.head_dim, keys.size_or("attention.key_length", config.width / config.num_heads));
  if (static_cast<std::int64_t>(config.num_heads) * config.head_dim > kMaxSize)
    return fail("{}: {} is {} and {} is {}: their product is over {}", path, keys.key("attention.head_count"),
                config.num_heads, keys.key("attention.key_length"), config.head_dim, kMaxSize);
  OCTAVO_TRY(const int value_length, keys.size_or("attention.value_length", config.head_dim));
  if (value_length != config.head_dim)
    return fail("{}: {} is {}, expected {} as the keys", path, keys.key("attention.value_length"), value_length,
                config.head_dim);
  if (config.head_dim % 2 != 0)
    return fail("{}: {} is {}, expected an even number", path, keys.key("attention.key_length"), config.head_dim);
  OCTAVO_TRY(const int rotated, keys.size_or("rope.dimension_count", config.head_dim));
  if (rotated != config.head_dim)
    return fail("{}: {} is {}, expected all {} dimensions of a head", path, keys.key("rope.dimension_count"), rotated,
                config.head_dim);
  return {};
}

Result<void> load_rope(const GgufFile& file, const KeyReader& keys, ModelConfig& config) {
  const ArchitectureInfo& arch = *config.arch;
  if (keys.has("rope.freq_base") || arch.default_rope_base == 0) {
    OCTAVO_TRY(config.rope_base, keys.positive("rope.freq_base"));
  } else {
    config.rope_base = arch.default_rope_base;
  }
  config.rope_base_local = arch.local_rope_base;
  if (arch.local_rope_base != 0 && keys.has("rope.freq_base_swa")) {
    OCTAVO_TRY(config.rope_base_local, keys.positive("rope.freq_base_swa"));
  }
  // Without a type a factor is linear; the key before it was scale_linear.
  const char* factor = keys.has("rope.scaling.factor") ? "rope.scaling.factor" : "rope.scale_linear";
  if (keys.has("rope.scaling.type")) {
    OCTAVO_TRY(const std::string_view scaling, file.get_string(keys.key("rope.scaling.type")));
    if (scaling == "none") return {};
    if (scaling != "linear")
      return fail("{}: {} is {}, supported are: none, linear", file.path().string(), keys.key("rope.scaling.type"),
                  quote(scaling));
    factor = "rope.scaling.factor";
  } else if (!keys.has(factor)) {
    return {};
  }
  OCTAVO_TRY(config.rope_scale, keys.positive(factor));
  return {};
}

// Keys that change what a model computes, and of which we know only the value that changes nothing.
Result<void> refuse_unknown_mathematics(const GgufFile& file, const KeyReader& keys) {
  struct Factor {
    std::string_view suffix;
    float neutral;
  };
  constexpr Factor kFactors[] = {
      {"final_logit_softcapping", 0}, {"attn_logit_softcapping", 0}, {"attention.scale", 0},         {"logit_scale", 1},
      {"residual_scale", 1},          {"embedding_scale", 1},        {"rope.scaling.attn_factor", 1}};
  for (const auto& [suffix, neutral] : kFactors) {
    if (!keys.has(suffix)) continue;
    OCTAVO_TRY(const float value, file.get_f32(keys.key(suffix)));
    if (value != neutral && value != 0)
      return fail("{}: {} is {}, expected {}: this is not supported", file.path().string(), keys.key(suffix), value,
                  neutral);
  }
  if (!keys.has("attention.causal")) return {};
  OCTAVO_TRY(const bool causal, file.get_bool(keys.key("attention.causal")));
  if (!causal)
    return fail("{}: {} is false, expected true: this is not supported", file.path().string(),
                keys.key("attention.causal"));
  return {};
}

Result<void> load_window(const GgufFile& file, const KeyReader& keys, ModelConfig& config) {
  if (config.arch->global_layer_every == 0) return {};
  OCTAVO_TRY(config.window, keys.size("attention.sliding_window"));
  OCTAVO_TRY(const int every, keys.size_or("attention.sliding_window_pattern", config.arch->global_layer_every));
  if (every != config.arch->global_layer_every)
    return fail("{}: {} is {}, expected {}", file.path().string(), keys.key("attention.sliding_window_pattern"), every,
                config.arch->global_layer_every);
  return {};
}

Result<void> load_vocab_size(const GgufFile& file, const KeyReader& keys, ModelConfig& config) {
  const std::string path = file.path().string();
  const GgufTensor* embedding = file.find_tensor("token_embd.weight");
  if (embedding == nullptr)
    return fail("{}: no tensor token_embd.weight: the file holds {}", path,
                file.tensors().empty() ? "only a vocabulary, not a model" : "no token embedding");
  if (embedding->tensor.rows <= 0 || embedding->tensor.rows > kMaxSize)
    return fail("{}: token_embd.weight has {} rows, expected 1 to {}", path, embedding->tensor.rows, kMaxSize);
  config.vocab_size = static_cast<int>(embedding->tensor.rows);
  OCTAVO_TRY(const int declared, keys.size_or("vocab_size", config.vocab_size));
  if (declared != config.vocab_size)
    return fail("{}: {} is {}, but token_embd.weight has {} rows", path, keys.key("vocab_size"), declared,
                config.vocab_size);
  config.tied_output = file.find_tensor("output.weight") == nullptr;
  return {};
}

}  // namespace

const ArchitectureInfo* find_architecture(std::string_view name) {
  for (const ArchitectureInfo& row : kArchitectures)
    if (row.name == name) return &row;
  return nullptr;
}

std::string supported_architectures() {
  std::string names;
  for (const ArchitectureInfo& row : kArchitectures) names += (names.empty() ? "" : ", ") + std::string(row.name);
  return names;
}

Result<ModelConfig> ModelConfig::load(const GgufFile& file) {
  ModelConfig config;
  OCTAVO_TRY(const std::string_view arch_name, file.get_string("general.architecture"));
  config.arch = find_architecture(arch_name);
  if (config.arch == nullptr)
    return fail("{}: architecture {} is not supported; supported are: {}", file.path().string(), quote(arch_name),
                supported_architectures());
  const KeyReader keys(file, arch_name);
  config.name = printable(file.path().stem().string());
  if (file.find("general.name") != nullptr) {
    OCTAVO_TRY(const std::string_view name, file.get_string("general.name"));
    config.name = printable(name);
  }
  if (keys.has("expert_count")) {
    OCTAVO_TRY(const std::uint64_t experts, file.get_u64(keys.key("expert_count")));
    if (experts != 0)
      return fail("{}: {} is {}: mixtures of experts are not supported", file.path().string(), keys.key("expert_count"),
                  experts);
  }
  OCTAVO_TRY_VOID(load_vocab_size(file, keys, config));
  OCTAVO_TRY(config.num_layers, keys.size("block_count"));
  if (static_cast<std::size_t>(config.num_layers) > file.tensors().size())
    return fail("{}: {} is {}, but the file has only {} tensors", file.path().string(), keys.key("block_count"),
                config.num_layers, file.tensors().size());
  OCTAVO_TRY(config.width, keys.size("embedding_length"));
  OCTAVO_TRY(config.ffn_width, keys.size("feed_forward_length"));
  OCTAVO_TRY(config.context_length, keys.size("context_length"));
  OCTAVO_TRY(const double epsilon, keys.positive("attention.layer_norm_rms_epsilon"));
  config.rms_epsilon = static_cast<float>(epsilon);
  OCTAVO_TRY_VOID(load_heads(file, keys, config));
  OCTAVO_TRY_VOID(load_rope(file, keys, config));
  OCTAVO_TRY_VOID(load_window(file, keys, config));
  OCTAVO_TRY_VOID(refuse_unknown_mathematics(file, keys));
  const bool by_width = config.arch->width_scale_layers != 0 && config.num_layers == config.arch->width_scale_layers;
  config.attention_scale =
      1.0F / std::sqrt(static_cast<float>(by_width ? config.width / config.num_heads : config.head_dim));
  return config;
}

}  // namespace octavo
