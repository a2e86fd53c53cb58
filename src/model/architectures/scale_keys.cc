#include "model/architectures/scale_keys.h"

#include <cmath>

namespace octavo {
namespace {

/// Leaves `scale` as it is where the file has none.
Result<void> read_scale(const ModelKeys& keys, std::string_view suffix, float& scale) {
  if (!keys.has(suffix)) return {};
  OCTAVO_TRY(const double given, keys.not_negative(suffix));
  if (given > 0) scale = static_cast<float>(given);
  return {};
}

}  // namespace

Result<void> read_scales(const ModelKeys& keys, ModelConfig& config) {
  OCTAVO_TRY_VOID(read_scale(keys, "embedding_scale", config.embedding_scale));
  OCTAVO_TRY_VOID(read_scale(keys, "residual_scale", config.residual_scale));
  float of_logits = 0;
  OCTAVO_TRY_VOID(read_scale(keys, "logit_scale", of_logits));
  if (of_logits > 0) config.logit_scale = 1 / of_logits;
  for (LayerSpec& layer : config.layers)
    if (AttentionSpec* attention = layer.attention())
      OCTAVO_TRY_VOID(read_scale(keys, "attention.scale", attention->scale));
  return {};
}

void set_scales_of_minicpm(ModelConfig& config) {
  // scale_emb, scale_depth and dim_model_base of the family's config.json.
  constexpr float kEmbeddingScale = 12, kDepthScale = 1.4F, kBaseWidth = 256;
  config.embedding_scale = kEmbeddingScale;
  config.residual_scale = kDepthScale / std::sqrt(static_cast<float>(config.num_layers()));
  config.logit_scale = kBaseWidth / static_cast<float>(config.width);
}

Result<std::optional<AttentionTemperature>> read_temperature(const ModelKeys& keys, const ModelConfig& config) {
  if (!keys.has("attention.temperature_scale")) return std::nullopt;
  AttentionTemperature temperature;
  OCTAVO_TRY(temperature.slope, keys.not_negative("attention.temperature_scale"));
  if (temperature.slope == 0) return std::nullopt;
  OCTAVO_TRY(temperature.length, keys.size_or("rope.scaling.original_context_length", config.context_length));
  // 0 is none, as llama.cpp writes it.
  if (!keys.has("attention.temperature_length")) return temperature;
  OCTAVO_TRY(const std::uint64_t given, keys.source().get_u64(keys.key("attention.temperature_length")));
  if (given != 0) {
    OCTAVO_TRY(temperature.length, keys.size("attention.temperature_length"));
  }
  return temperature;
}

}  // namespace octavo
