// Llama 4, text (Meta, 2025: Scout, Maverick): three of four layers see chunks of the context, the fourth all of it
// without positions, by scores that grow with the position. In every layer, or every second one, a mixture whose
// weights multiply what experts read; beside it an expert for every row.
#include "model/architectures/architectures.h"
#include "model/architectures/experts_keys.h"

namespace octavo {
namespace {

constexpr int kChunk = 8192;  // tokens; files of llama.cpp's converter leave it out
constexpr double kTemperatureSlope = 0.1;
constexpr int kTemperatureLength = 8192;
constexpr int kExpertsOfMaverick = 128;  // whose heads have no norms

/// Norms of heads are Scout's; Ollama's files say so.
Result<bool> has_head_norms(const ModelKeys& keys, int num_experts) {
  if (!keys.has("use_qk_norm")) return num_experts != kExpertsOfMaverick;
  return keys.source().get_bool(keys.key("use_qk_norm"));
}

Result<std::optional<AttentionTemperature>> read_temperature(const ModelKeys& keys) {
  constexpr std::string_view kSlope = "attention.temperature_scale";
  AttentionTemperature temperature{.slope = kTemperatureSlope, .offset = 1};
  if (keys.has(kSlope)) {
    OCTAVO_TRY(temperature.slope, keys.not_negative(kSlope));
  }
  OCTAVO_TRY(temperature.length, keys.size_or("attention.temperature_length", kTemperatureLength));
  return temperature.slope > 0 ? std::optional(temperature) : std::nullopt;
}

/// A window of 0 stands for layers that all see everything, which no model with experts has.
Result<int> read_chunk(const ModelKeys& keys) {
  if (keys.has("attention.sliding_window")) {
    OCTAVO_TRY_VOID(keys.size("attention.sliding_window"));
  }
  return keys.size_or("attention.chunk_size", kChunk);
}

Result<void> read_attentions(const ModelKeys& keys, int num_experts, std::vector<LayerSpec>& layers) {
  OCTAVO_TRY(const int chunk, read_chunk(keys));
  OCTAVO_TRY(const auto temperature, read_temperature(keys));
  OCTAVO_TRY(const bool norms_heads, has_head_norms(keys, num_experts));
  OCTAVO_TRY(const std::vector<bool> is_chunked,
             read_window_pattern(keys, kGlobalLayerOfFour, static_cast<int>(layers.size())));
  for (std::size_t i = 0; i < layers.size(); ++i) {
    AttentionSpec& attention = *layers[i].attention();
    if (is_chunked[i]) {
      attention.window = chunk;
      attention.is_chunked = true;
      attention.qk_norm_is_plain = norms_heads;
      attention.qk_norm_after_rope = norms_heads;
      OCTAVO_TRY(attention.rope.base, keys.positive_or("rope.freq_base_swa", attention.rope.base));
    } else {
      attention.rope = {};
      attention.temperature = temperature;
    }
  }
  return {};
}

}  // namespace

Result<void> read_llama4(const ModelKeys& keys, ModelConfig& config) {
  OCTAVO_TRY(LayerSpec layer, read_attention_layer(keys, config));
  RopeSpec& rope = layer.attention()->rope;
  rope.layout = RopeLayout::kNeighbours;
  if (rope.factors == Presence::kAbsent) rope.factors = Presence::kOptional;
  OCTAVO_TRY(const int width, keys.size("expert_feed_forward_length"));
  constexpr RouterSpec kRouter{.gate = RouterSpec::Gate::kSigmoid};
  OCTAVO_TRY(ExpertsFfnSpec experts, read_routed_experts(keys, width, kRouter, SumsToOne::kByKey));
  experts.shared_width = width;
  experts.shared_is_gated = false;
  experts.weighs_inputs = true;
  layer.feed_forward = experts;
  OCTAVO_TRY_VOID(read_equal_layers(keys, layer, config));
  OCTAVO_TRY(const int step, keys.size("interleave_moe_layer_step"));
  OCTAVO_TRY_VOID(make_dense(keys, [step](int index) { return (index + 1) % step != 0; }, config));
  OCTAVO_TRY_VOID(read_attentions(keys, experts.num_experts, config.layers));
  take_no_factors_of_feed_forwards(config);
  return {};
}

}  // namespace octavo
