// Mistral Small 3.1 and later, and Ministral 3 (Mistral AI, 2025): Llama's layers; Ministral's attention grows sharper
// with the position.
#include "model/architectures/architectures.h"
#include "model/architectures/llama_layer.h"

namespace octavo {
namespace {

/// The steps are as long as the context before it was stretched, unless the file names their length.
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

}  // namespace

Result<void> read_mistral3(const ModelKeys& keys, ModelConfig& config) {
  OCTAVO_TRY(LayerSpec layer, read_llama_layer(keys, config));
  OCTAVO_TRY(layer.attention()->temperature, read_temperature(keys, config));
  return read_equal_layers(keys, layer, config);
}

}  // namespace octavo
