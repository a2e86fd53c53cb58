// Nemotron-H and Nemotron 3 (NVIDIA, 2025): layers of one part each, Mamba-2, attention without positions, or a
// feed-forward, in front of which stands the one norm of the layer. Feed-forwards are squares above 0 without a gate;
// those of Nemotron 3 are mixtures, of which searched models (Puzzle) have others in each layer. Experts of Nemotron 3
// Super read narrower rows than the router and the expert for every row.
#include <algorithm>

#include "base/to_size.h"
#include "model/architectures/architectures.h"
#include "model/architectures/experts_keys.h"
#include "model/architectures/recurrence_keys.h"

namespace octavo {
namespace {

constexpr double kRopeBase = 10000.0;  // of files, which nothing reads

/// The file's numbers of each layer.
struct Sizes {
  std::vector<int> heads, kv_heads, widths;
};

Result<Sizes> read_layer_sizes(const ModelKeys& keys, int num_layers) {
  Sizes sizes;
  OCTAVO_TRY(sizes.heads, keys.sizes("attention.head_count", num_layers, 0));
  OCTAVO_TRY(sizes.kv_heads, keys.sizes("attention.head_count_kv", num_layers, 0));
  OCTAVO_TRY(sizes.widths, keys.sizes("feed_forward_length", num_layers, 0));
  OCTAVO_TRY_VOID(expect_attention(keys, sizes.kv_heads));
  return sizes;
}

/// A layer with a feed-forward has that alone, whatever the file says of its heads.
Result<LayerSpec> read_layer(const ModelKeys& keys, const ModelConfig& config, const MambaSpec& mamba,
                             const Sizes& sizes, std::size_t i) {
  LayerSpec layer{.mixer = NoPart(), .feed_forward = NoPart()};
  if (sizes.widths[i] > 0) {
    layer.feed_forward = DenseFfnSpec{.width = sizes.widths[i],
                                      .activation = Activation::kSquaredRelu,
                                      .biases = Presence::kOptional,
                                      .is_gated = false};
    layer.ffn_norm_is_mixers = true;
  } else if (sizes.kv_heads[i] == 0) {
    layer.mixer = mamba;
  } else {
    OCTAVO_TRY_VOID(expect_heads(keys, sizes.heads[i], sizes.kv_heads[i]));
    OCTAVO_TRY(AttentionSpec attention, read_attention(keys, config, sizes.heads[i], sizes.kv_heads[i], kRopeBase));
    attention.rope = {};
    attention.output_bias = Presence::kOptional;
    layer.mixer = attention;
  }
  return layer;
}

/// Early files have the width of all experts that a row meets together.
Result<std::vector<int>> read_expert_widths(const ModelKeys& keys, const std::vector<int>& widths,
                                            const std::vector<int>& chosen) {
  constexpr std::string_view kWidth = "expert_feed_forward_length";
  if (keys.has(kWidth)) return keys.sizes(kWidth, static_cast<int>(widths.size()), 0);
  std::vector<int> of_experts;
  of_experts.reserve(widths.size());
  for (std::size_t i = 0; i < widths.size(); ++i) of_experts.push_back(widths[i] / std::max(chosen[i], 1));
  return of_experts;
}

/// The mixtures in the place of feed-forwards.
Result<void> read_mixtures(const ModelKeys& keys, const std::vector<int>& widths, ModelConfig& config) {
  constexpr std::string_view kLatent = "moe_latent_size";
  OCTAVO_TRY(const int latent, keys.has(kLatent) ? keys.count(kLatent) : Result<int>(0));
  OCTAVO_TRY(const std::vector<int> chosen, keys.sizes("expert_used_count", config.num_layers(), 0));
  OCTAVO_TRY(const std::vector<int> of_experts, read_expert_widths(keys, widths, chosen));
  constexpr RouterSpec kRouter{.gate = RouterSpec::Gate::kSigmoid, .choice_bias = Presence::kRequired};
  for (std::size_t i = 0; i < widths.size(); ++i) {
    if (widths[i] == 0) continue;
    if (chosen[i] == 0 || of_experts[i] == 0)
      return fail("{}: {} is {} and the width of experts is {} for layer {}, expected both above 0", keys.path(),
                  keys.key("expert_used_count"), chosen[i], of_experts[i], i);
    OCTAVO_TRY(ExpertsFfnSpec experts, read_routed_experts(keys, of_experts[i], chosen[i], kRouter, SumsToOne::kByKey));
    OCTAVO_TRY_VOID(read_shared_expert(keys, experts));
    experts.router.gate = RouterSpec::Gate::kSigmoid;  // whatever a key says
    experts.is_gated = false;
    experts.latent_width = latent;
    experts.activation = Activation::kSquaredRelu;
    config.layers[i].feed_forward = experts;
  }
  return {};
}

}  // namespace

Result<void> read_nemotron_h(const ModelKeys& keys, ModelConfig& config) {
  config.epsilon_is_layer_norms = !keys.has("attention.layer_norm_rms_epsilon");
  OCTAVO_TRY_VOID(read_equal_layers(keys, {}, config));
  OCTAVO_TRY(const MambaSpec mamba, read_mamba(keys));
  OCTAVO_TRY(const Sizes sizes, read_layer_sizes(keys, config.num_layers()));
  for (std::size_t i = 0; i < sizes.widths.size(); ++i) {
    OCTAVO_TRY(config.layers[i], read_layer(keys, config, mamba, sizes, i));
  }
  OCTAVO_TRY(const bool is_mixture, has_experts(keys));
  return is_mixture ? read_mixtures(keys, sizes.widths, config) : Result<void>();
}

}  // namespace octavo
