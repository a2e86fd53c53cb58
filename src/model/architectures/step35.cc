// Step 3.5 Flash (StepFun, 2026): heads by layer, each with a gate; layers with a window rotate whole heads by a base
// of their own, those that see all half of a head. Mixtures behind dense layers, some of whose functions have limits.
#include "base/to_size.h"
#include "model/architectures/architectures.h"
#include "model/architectures/experts_keys.h"
#include "model/architectures/rope_keys.h"
#include "source/tensor_names.h"

namespace octavo {
namespace {

/// Halves the rotated dimensions of a layer that sees all: the file has the number of the others.
Result<void> rotate_half(const ModelKeys& keys, AttentionSpec& attention) {
  if (attention.rope.num_rotated % 4 != 0)
    return fail("{}: {} is {}, expected a multiple of 4: half of them are rotated where a layer sees all", keys.path(),
                keys.key("rope.dimension_count"), attention.rope.num_rotated);
  attention.rope.num_rotated /= 2;
  if (attention.rope.factors == Presence::kAbsent) attention.rope.factors = Presence::kOptional;
  return {};
}

Result<void> read_gated_attentions(const ModelKeys& keys, ModelConfig& config) {
  OCTAVO_TRY(std::vector<AttentionSpec> attentions, read_attentions(keys, config));
  OCTAVO_TRY(const std::vector<bool> is_windowed, read_window_pattern(keys, std::nullopt, config.num_layers()));
  OCTAVO_TRY(const int window, keys.size("attention.sliding_window"));
  for (std::size_t i = 0; i < is_windowed.size(); ++i) {
    AttentionSpec& attention = attentions[i];
    attention.qk_norm = Presence::kOptional;
    attention.output_gate = OutputGate{.function = GateFunction::kSigmoid, .is_of_heads = true};
    if (!is_windowed[i]) {
      OCTAVO_TRY_VOID(rotate_half(keys, attention));
    } else {
      attention.window = window;
      OCTAVO_TRY(attention.rope, read_windowed_rope(keys, attention));
      attention.rope.factors = Presence::kAbsent;
    }
    config.layers[i].mixer = attention;
  }
  return {};
}

/// The limit of each layer; 0: none, as in a file without the key.
Result<std::vector<float>> read_limits(const ModelKeys& keys, std::string_view suffix, int num_layers) {
  if (!keys.has(suffix)) return std::vector<float>(to_size(num_layers), 0.0F);
  OCTAVO_TRY(std::vector<float> limits, keys.numbers(suffix, num_layers));
  for (std::size_t i = 0; i < limits.size(); ++i)
    if (!(limits[i] >= 0))
      return fail("{}: {} is {} for layer {}, expected 0 or more", keys.path(), keys.key(suffix), limits[i], i);
  return limits;
}

}  // namespace

Result<void> read_step35(const ModelKeys& keys, ModelConfig& config) {
  OCTAVO_TRY_VOID(read_equal_layers(keys, {}, config));
  OCTAVO_TRY_VOID(read_gated_attentions(keys, config));
  constexpr RouterSpec kRouter{.gate = RouterSpec::Gate::kSigmoid, .choice_bias = Presence::kOptional};
  OCTAVO_TRY(ExpertsFfnSpec experts, read_experts_and_shared(keys, kRouter, SumsToOne::kByKey));
  OCTAVO_TRY(const std::vector<float> limits, read_limits(keys, "swiglu_clamp_exp", config.num_layers()));
  OCTAVO_TRY(const std::vector<float> shared, read_limits(keys, "swiglu_clamp_shexp", config.num_layers()));
  for (std::size_t i = 0; i < config.layers.size(); ++i) {
    experts.limit = limits[i];
    experts.shared_limit = shared[i];
    config.layers[i].feed_forward = experts;
  }
  OCTAVO_TRY_VOID(make_dense(keys, [&](int i) { return !has_layer_tensor(keys, i, tensor_names::kRouter); }, config));
  for (std::size_t i = 0; i < config.layers.size(); ++i)
    if (auto* dense = std::get_if<DenseFfnSpec>(&config.layers[i].feed_forward)) dense->limit = shared[i];
  take_no_factors_of_feed_forwards(config);
  return {};
}

}  // namespace octavo
