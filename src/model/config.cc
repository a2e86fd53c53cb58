#include "model/config.h"

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "model/architectures/architectures.h"
#include "model/architectures/encoder_keys.h"
#include "source/shard_name.h"
#include "source/tensor_names.h"

namespace octavo {
namespace {

std::unexpected<Error> refuse_architecture(const ModelSource& source, std::string_view name) {
  const std::string_view nearest = nearest_architecture(name);
  return fail(
      "{}: architecture {} is not supported{}; line {} of docs/adding_a_model.md begins a new one; supported are: {}",
      source.name(), quote(name), nearest.empty() ? "" : fmt::format(", the nearest known is {}", nearest),
      kFirstLineOfGuide, supported_architectures());
}

Result<void> read_vocab_size(const ModelKeys& keys, ModelConfig& config) {
  const ModelSource& source = keys.source();
  const SourceTensor* embedding = source.find_tensor(tensor_names::kEmbedding);
  if (embedding == nullptr)
    return fail("{}: no tensor {}: the file holds {}", keys.path(), tensor_names::kEmbedding,
                source.tensors().empty() ? "only a vocabulary, not a model" : "no token embedding");
  if (embedding->tensor.rows <= 0 || embedding->tensor.rows > kMaxModelSize)
    return fail("{}: {} has {} rows, expected 1 to {}", keys.path(), tensor_names::kEmbedding, embedding->tensor.rows,
                kMaxModelSize);
  config.vocab_size = static_cast<int>(embedding->tensor.rows);
  OCTAVO_TRY(const int declared, keys.size_or("vocab_size", config.vocab_size));
  if (declared != config.vocab_size)
    return fail("{}: {} is {}, but {} has {} rows", keys.path(), keys.key("vocab_size"), declared,
                tensor_names::kEmbedding, config.vocab_size);
  config.tied_output = source.find_tensor(tensor_names::kOutput) == nullptr;
  return {};
}

/// llama.cpp writes the scale of scores that a family has anyway; 0 is none.
Result<void> check_score_scale(const ModelKeys& keys, const ModelConfig& config) {
  constexpr std::string_view kScale = "attention.scale";
  constexpr float kRounding = 1e-5F;
  if (!keys.has(kScale)) return {};
  OCTAVO_TRY(const double given, keys.not_negative(kScale));
  const auto scale = static_cast<float>(given);
  for (const LayerSpec& layer : config.layers) {
    const AttentionSpec* attention = layer.attention();
    if (scale == 0 || attention == nullptr || std::abs(scale / attention->scale - 1) < kRounding) continue;
    return fail("{}: {} is {}, expected {}: this is not supported", keys.path(), keys.key(kScale), scale,
                attention->scale);
  }
  return {};
}

/// Gates, and V that is K, are as wide as K.
Result<void> check_value_dims(const ModelKeys& keys, const ModelConfig& config) {
  for (const LayerSpec& layer : config.layers) {
    const AttentionSpec* a = layer.attention();
    if (a == nullptr || a->v_dim() == a->head_dim || !(a->gated_output || a->v_is_k)) continue;
    return fail("{}: values have {} dimensions a head, expected {} as the keys: this is not supported in {}",
                keys.path(), a->v_dim(), a->head_dim, config.architecture);
  }
  return {};
}

}  // namespace

Result<ModelConfig> ModelConfig::load(const ModelSource& source, Math math, int context) {
  ModelConfig config;
  OCTAVO_TRY(const std::string_view architecture, source.get_string("general.architecture"));
  const ReadArchitecture read = find_architecture(architecture);
  if (read == nullptr) return refuse_architecture(source, architecture);
  config.architecture = architecture;
  config.name = printable(model_stem(source.path()));
  if (source.find("general.name") != nullptr) {
    OCTAVO_TRY(const std::string_view name, source.get_string("general.name"));
    config.name = printable(name);
  }
  const ModelKeys keys(source, architecture, math, context);
  OCTAVO_TRY_VOID(read_vocab_size(keys, config));
  OCTAVO_TRY(config.width, keys.size("embedding_length"));
  OCTAVO_TRY(config.context_length, keys.size("context_length"));
  OCTAVO_TRY_VOID(read(keys, config));
  const bool is_rms = config.norm == NormKind::kRms && !config.epsilon_is_layer_norms;
  OCTAVO_TRY(const double epsilon,
             keys.positive(is_rms ? "attention.layer_norm_rms_epsilon" : "attention.layer_norm_epsilon"));
  config.norm_epsilon = static_cast<float>(epsilon);
  OCTAVO_TRY_VOID(read_vectors(keys, config));
  OCTAVO_TRY_VOID(check_score_scale(keys, config));
  OCTAVO_TRY_VOID(check_value_dims(keys, config));
  OCTAVO_TRY_VOID(keys.refuse_unread_mathematics());
  return config;
}

RopeFactors ModelConfig::rope_factors() const {
  for (const LayerSpec& each : layers)
    if (const AttentionSpec* attention = each.attention(); attention != nullptr && attention->rope.num_rotated > 0)
      return attention->rope.list;
  return RopeFactors::kOfAllContexts;
}

void ModelConfig::add_draft_head() {
  OCTAVO_CHECK(prediction_layer && !has_draft_head, "{} layers of prediction", num_skipped_layers);
  layers.push_back(*prediction_layer);
  has_draft_head = true;
}

bool ModelConfig::joins_pictures() const {
  return std::ranges::any_of(own_layers(), [](const LayerSpec& layer) {
    return layer.attention() != nullptr && layer.attention()->joins_pictures;
  });
}

int ModelConfig::last_layer_with_state() const {
  if (has_draft_head) return num_layers();
  int last = num_layers() - 1;
  while (last > 0 && !layer(last).writes_state()) --last;
  return last;
}

}  // namespace octavo
