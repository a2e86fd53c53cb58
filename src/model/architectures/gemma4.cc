// Gemma 4, text (Gemma Team, 2026): layers with a window, and layers without one whose heads are wider. E2B and E4B
// have an embedding of each token for each layer, and last layers that borrow keys and values; 26B-A4B has experts
// beside each dense feed-forward.
//
// As in transformers, models/gemma4/modeling_gemma4.py.
#include "base/to_size.h"
#include "model/architectures/architectures.h"
#include "model/architectures/experts_keys.h"
#include "model/architectures/gemma_layers.h"
#include "model/architectures/rope_keys.h"
#include "source/tensor_names.h"

namespace octavo {
namespace {

constexpr HeadKeys kWindowedHeads = {"attention.key_length_swa", "attention.value_length_swa"};
constexpr double kWindowedRopeBase = 10000.0;  // the default of files

Result<RopeSpec> read_windowed_rope(const ModelKeys& keys, int head_dim) {
  RopeSpec rope;
  OCTAVO_TRY(rope.num_rotated, read_num_rotated(keys, "rope.dimension_count_swa", head_dim));
  OCTAVO_TRY(rope.base, keys.positive_or("rope.freq_base_swa", kWindowedRopeBase));
  return rope;
}

/// Layers without a window rotate only a part of a head: the other pairs' factors are so large that these do not turn.
Result<RopeSpec> read_global_rope(const ModelKeys& keys, int head_dim) {
  OCTAVO_TRY(RopeSpec rope, read_rope(keys, head_dim, {}));
  rope.factors = Presence::kRequired;
  return rope;
}

/// `window`: 0 for a layer that sees all positions.
Result<AttentionSpec> read_attention(const ModelKeys& keys, const ModelConfig& config, int window, int num_kv_heads) {
  const bool is_windowed = window != 0;
  const HeadKeys names = is_windowed ? kWindowedHeads : HeadKeys();
  AttentionSpec attention;
  attention.num_kv_heads = num_kv_heads;
  attention.window = window;
  OCTAVO_TRY(attention.num_heads, keys.size("attention.head_count"));
  OCTAVO_TRY_VOID(keys.size(names.key_length));  // no default fits
  OCTAVO_TRY_VOID(read_head_dim(keys, config, names, attention));
  OCTAVO_TRY(attention.rope,
             is_windowed ? read_windowed_rope(keys, attention.head_dim) : read_global_rope(keys, attention.head_dim));
  attention.scale = 1;
  attention.qk_norm = Presence::kRequired;
  attention.v_norm = true;
  return attention;
}

/// [num_layers] the window of each layer; 0: it sees all positions.
Result<std::vector<int>> read_windows_of_layers(const ModelKeys& keys, int num_layers) {
  OCTAVO_TRY(const int window, keys.size("attention.sliding_window"));
  OCTAVO_TRY(const std::vector<bool> is_windowed, read_window_pattern(keys, {}, num_layers));
  std::vector<int> windows(is_windowed.size());
  for (std::size_t i = 0; i < windows.size(); ++i) windows[i] = is_windowed[i] ? window : 0;
  return windows;
}

/// Whether the file has no V in the layers without a window: there K stands in its place.
bool has_no_v(const ModelKeys& keys, const std::vector<int>& windows) {
  for (std::size_t i = 0; i < windows.size(); ++i)
    for (const std::string_view name : {tensor_names::kV, tensor_names::kQkv})
      if (windows[i] == 0 && keys.source().find_tensor(tensor_names::of_layer(static_cast<int>(i), name)) != nullptr)
        return false;
  return true;
}

/// Makes layer `index` borrow from `lender`, if there is one.
Result<void> borrow(const ModelKeys& keys, int index, std::optional<int> lender, ModelConfig& config) {
  const std::string key = keys.key("attention.shared_kv_layers");
  if (!lender)
    return fail("{}: {} leaves layer {} nothing to borrow: no layer before the first that borrows looks back as far",
                keys.path(), key, index);
  AttentionSpec& own = *config.layers[to_size(index)].attention();
  const AttentionSpec& of_lender = *config.layer(*lender).attention();
  if (of_lender.num_kv_heads != own.num_kv_heads)
    return fail("{}: {} lets layer {} borrow from layer {}, which has {} KV heads, expected {}", keys.path(), key,
                index, *lender, of_lender.num_kv_heads, own.num_kv_heads);
  own.borrows_from = lender;
  return {};
}

/// Reads which last layers have no keys and values of their own: they read those of the last layer of their kind that
/// has.
Result<void> read_borrowed_layers(const ModelKeys& keys, ModelConfig& config) {
  if (!keys.has("attention.shared_kv_layers")) return {};
  OCTAVO_TRY(const int count, keys.count("attention.shared_kv_layers", config.num_layers() - 1));
  const int end = config.num_layers() - count;
  std::optional<int> windowed, global;
  for (int i = 0; i < end; ++i) (config.layer(i).attention()->window != 0 ? windowed : global) = i;
  for (int i = end; i < config.num_layers(); ++i) {
    const bool is_windowed = config.layer(i).attention()->window != 0;
    OCTAVO_TRY_VOID(borrow(keys, i, is_windowed ? windowed : global, config));
  }
  return {};
}

Result<void> read_per_layer_width(const ModelKeys& keys, ModelConfig& config) {
  OCTAVO_TRY(config.per_layer_width,
             keys.count("embedding_length_per_layer_input", kMaxModelSize / config.num_layers()));
  return {};
}

/// Reads the feed-forwards of all layers: dense ones, or dense ones with a mixture beside each.
Result<void> read_feed_forwards(const ModelKeys& keys, ModelConfig& config) {
  OCTAVO_TRY(const std::vector<int> widths, keys.sizes("feed_forward_length", config.num_layers()));
  OCTAVO_TRY(const bool is_mixture, has_experts(keys));
  ExpertsFfnSpec experts;
  if (is_mixture) {
    OCTAVO_TRY(const int width, keys.size("expert_feed_forward_length"));
    OCTAVO_TRY(experts, read_experts(keys, width));
    experts.shared_is_gated = false;
    experts.shared_is_dense = true;
    experts.own_norms = true;
    experts.result_scales = Presence::kRequired;
  }
  for (std::size_t i = 0; i < widths.size(); ++i) {
    experts.shared_width = widths[i];
    if (is_mixture) {
      config.layers[i].feed_forward = experts;
    } else {
      config.layers[i].feed_forward = DenseFfnSpec{.width = widths[i]};
    }
  }
  return {};
}

/// Reads all parts of the layers, whose number is known, but the feed-forwards.
Result<void> read_layers(const ModelKeys& keys, ModelConfig& config) {
  for (LayerSpec& layer : config.layers) layer.output_scale = true;
  const int num_layers = config.num_layers();
  OCTAVO_TRY(const std::vector<int> windows, read_windows_of_layers(keys, num_layers));
  OCTAVO_TRY(const std::vector<int> kv_heads, keys.sizes("attention.head_count_kv", num_layers));
  const bool no_v = has_no_v(keys, windows);
  for (std::size_t i = 0; i < windows.size(); ++i) {
    OCTAVO_TRY(AttentionSpec attention, read_attention(keys, config, windows[i], kv_heads[i]));
    attention.v_is_k = windows[i] == 0 && no_v;
    config.layers[i].mixer = attention;
  }
  return {};
}

Result<void> expect_dense(const ModelKeys& keys) {
  OCTAVO_TRY(const bool is_mixture, has_experts(keys));
  if (is_mixture)
    return fail("{}: {} is not 0, expected an assistant without experts", keys.path(), keys.key("expert_count"));
  return {};
}

}  // namespace

Result<void> read_gemma4(const ModelKeys& keys, ModelConfig& config) {
  OCTAVO_TRY_VOID(read_equal_layers(keys, {}, config));
  OCTAVO_TRY_VOID(read_layers(keys, config));
  OCTAVO_TRY_VOID(read_feed_forwards(keys, config));
  OCTAVO_TRY_VOID(read_borrowed_layers(keys, config));
  OCTAVO_TRY_VOID(read_per_layer_width(keys, config));
  for (LayerSpec& layer : config.layers)  // E2B and E4B see pictures row by row
    layer.attention()->joins_pictures = config.per_layer_width == 0 && layer.attention()->window != 0;
  make_gemma(config);
  if (keys.has("final_logit_softcapping")) {
    OCTAVO_TRY(const double cap, keys.not_negative("final_logit_softcapping"));
    config.logit_soft_cap = static_cast<float>(cap);
  }
  return {};
}

// The layers as in transformers' models/gemma4_assistant/modeling_gemma4_assistant.py: no layer has keys and values,
// and logits have no soft cap, whatever the keys say. The layers to borrow from are another model's: attach() finds
// them.
Result<void> read_gemma4_assistant(const ModelKeys& keys, ModelConfig& config) {
  OCTAVO_TRY(const int num_layers, read_block_count(keys));  // all of them are layers of prediction
  config.layers.resize(to_size(num_layers));
  OCTAVO_TRY_VOID(read_layers(keys, config));
  for (LayerSpec& layer : config.layers) layer.attention()->borrows_from = 0;
  OCTAVO_TRY_VOID(expect_dense(keys));
  OCTAVO_TRY_VOID(read_feed_forwards(keys, config));
  OCTAVO_TRY(config.model_width, keys.size("embedding_length_out"));
  make_gemma(config);
  static_cast<void>(keys.has("final_logit_softcapping"));
  return {};
}

}  // namespace octavo
