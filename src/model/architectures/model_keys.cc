#include "model/architectures/model_keys.h"

#include <cmath>

#include "base/text.h"
#include "base/to_size.h"
#include "model/architectures/rope_keys.h"
#include "source/tensor_names.h"
#include "source/unspecified.h"

namespace octavo {
namespace {

constexpr int kMostLayersInFrontOfHead = 4096;
constexpr std::string_view kPredictionLayers = "nextn_predict_layers";

/// Checks an integer of an array as size() does a key's value.
Result<int> size_of(const ModelKeys& keys, std::string_view suffix, std::size_t layer, std::int32_t value, int least) {
  if (value >= least && value <= kMaxModelSize) return value;
  return fail("{}: {} is {} for layer {}, expected {} to {}", keys.path(), keys.key(suffix), value, layer, least,
              kMaxModelSize);
}

/// A bool, or 0 or 1.
std::optional<bool> as_flag(const MetadataValue& value) {
  if (const auto* flag = std::get_if<bool>(&value.value)) return *flag;
  if (const auto* number = std::get_if<std::uint64_t>(&value.value); number != nullptr && *number <= 1)
    return *number == 1;
  if (const auto* number = std::get_if<std::int64_t>(&value.value); number != nullptr && (*number == 0 || *number == 1))
    return *number == 1;
  return std::nullopt;
}

/// A file may have the layers of prediction and none of those in front of them, which its key counts.
bool holds_head_alone(const ModelKeys& keys) {
  return keys.has(kPredictionLayers) && !has_layer_tensor(keys, 0, tensor_names::kAttentionNorm);
}

const MetadataArray* find_array(const ModelKeys& keys, std::string_view suffix) {
  const MetadataValue* value = keys.has(suffix) ? keys.source().find(keys.key(suffix)) : nullptr;
  return value == nullptr ? nullptr : std::get_if<MetadataArray>(&value->value);
}

}  // namespace

bool has_layer_tensor(const ModelKeys& keys, int layer, std::string_view name) {
  return keys.source().find_tensor(tensor_names::of_layer(layer, name)) != nullptr;
}

Result<void> read_head_dim(const ModelKeys& keys, const ModelConfig& config, const HeadKeys& names,
                           AttentionSpec& attention) {
  if (attention.num_heads % attention.num_kv_heads != 0)
    return fail("{}: {} is {}, not a multiple of {}, which is {}", keys.path(), keys.key("attention.head_count"),
                attention.num_heads, keys.key("attention.head_count_kv"), attention.num_kv_heads);
  if (!keys.has(names.key_length) && config.width % attention.num_heads != 0)
    return fail("{}: {} is missing and {} ({}) is not a multiple of the {} heads", keys.path(),
                keys.key(names.key_length), keys.key("embedding_length"), config.width, attention.num_heads);
  OCTAVO_TRY(attention.head_dim, keys.size_or(names.key_length, config.width / attention.num_heads));
  if (static_cast<std::int64_t>(attention.num_heads) * attention.head_dim > kMaxModelSize)
    return fail("{}: {} is {} and {} is {}: their product is over {}", keys.path(), keys.key("attention.head_count"),
                attention.num_heads, keys.key(names.key_length), attention.head_dim, kMaxModelSize);
  OCTAVO_TRY(const int value_length, keys.size_or(names.value_length, attention.head_dim));
  if (value_length != attention.head_dim) attention.value_dim = value_length;
  if (static_cast<std::int64_t>(attention.num_heads) * value_length > kMaxModelSize)
    return fail("{}: {} is {} and {} is {}: their product is over {}", keys.path(), keys.key("attention.head_count"),
                attention.num_heads, keys.key(names.value_length), value_length, kMaxModelSize);
  if (attention.head_dim % 2 != 0)
    return fail("{}: {} is {}, expected an even number", keys.path(), keys.key(names.key_length), attention.head_dim);
  attention.scale = 1.0F / std::sqrt(static_cast<float>(attention.head_dim));
  return {};
}

std::string ModelKeys::key(std::string_view suffix) const { return fmt::format("{}.{}", architecture_, suffix); }

bool ModelKeys::has(std::string_view suffix) const {
  read_.emplace(suffix);
  return source_.find(key(suffix)) != nullptr;
}

Result<int> ModelKeys::size(std::string_view suffix, int most) const {
  read_.emplace(suffix);
  OCTAVO_TRY(const std::uint64_t value, source_.get_u64(key(suffix)));
  if (value == 0 || value > static_cast<std::uint64_t>(most))
    return fail("{}: {} is {}, expected 1 to {}", path(), key(suffix), value, most);
  return static_cast<int>(value);
}

Result<int> ModelKeys::size_or(std::string_view suffix, int otherwise) const {
  if (!has(suffix)) return otherwise;
  return size(suffix);
}

Result<std::vector<int>> ModelKeys::sizes(std::string_view suffix, int count, int least) const {
  if (find_array(*this, suffix) == nullptr) {
    OCTAVO_TRY(const int of_all, size(suffix));
    return std::vector<int>(to_size(count), of_all);
  }
  OCTAVO_TRY(std::vector<std::int32_t> of_each, source_.get_i32_array(key(suffix)));
  if (!is_for_layers(of_each.size(), count))
    return fail("{}: {} has {} numbers, expected one for each of the {} layers", path(), key(suffix), of_each.size(),
                count);
  of_each.resize(to_size(count));
  for (std::size_t i = 0; i < of_each.size(); ++i) {
    OCTAVO_TRY(of_each[i], size_of(*this, suffix, i, of_each[i], least));
  }
  return of_each;
}

Result<int> ModelKeys::count(std::string_view suffix, int most) const {
  read_.emplace(suffix);
  OCTAVO_TRY(const std::uint64_t value, source_.get_u64(key(suffix)));
  if (value > static_cast<std::uint64_t>(most))
    return fail("{}: {} is {}, expected 0 to {}", path(), key(suffix), value, most);
  return static_cast<int>(value);
}

Result<double> ModelKeys::positive(std::string_view suffix) const {
  read_.emplace(suffix);
  OCTAVO_TRY(const float value, source_.get_f32(key(suffix)));
  if (!(value > 0) || !std::isfinite(value))
    return fail("{}: {} is {}, expected a positive number", path(), key(suffix), value);
  return static_cast<double>(value);
}

Result<double> ModelKeys::not_negative(std::string_view suffix) const {
  read_.emplace(suffix);
  OCTAVO_TRY(const float value, source_.get_f32(key(suffix)));
  if (!(value >= 0) || !std::isfinite(value))
    return fail("{}: {} is {}, expected 0 or a positive number", path(), key(suffix), value);
  return static_cast<double>(value);
}

Result<double> ModelKeys::positive_or(std::string_view suffix, double otherwise) const {
  if (!has(suffix)) return otherwise;
  return positive(suffix);
}

Result<std::string_view> ModelKeys::text(std::string_view suffix) const { return source_.get_string(key(suffix)); }

Result<std::vector<float>> ModelKeys::numbers(std::string_view suffix, int count) const {
  if (find_array(*this, suffix) == nullptr) {
    OCTAVO_TRY(const float of_all, source_.get_f32(key(suffix)));
    return std::vector<float>(to_size(count), of_all);
  }
  OCTAVO_TRY(std::vector<float> of_each, source_.get_f32_array(key(suffix)));
  if (!is_for_layers(of_each.size(), count))
    return fail("{}: {} has {} numbers, expected one for each of the {} layers", path(), key(suffix), of_each.size(),
                count);
  of_each.resize(to_size(count));
  return of_each;
}

Result<std::vector<bool>> ModelKeys::flags(std::string_view suffix, int count) const {
  const MetadataArray* array = find_array(*this, suffix);
  if (array == nullptr) {
    const MetadataValue* value = source_.find(key(suffix));
    const auto of_all = value == nullptr ? std::nullopt : as_flag(*value);
    if (of_all) return std::vector<bool>(to_size(count), *of_all);
    return fail("{}: {} is {}, expected 0 or 1 for all layers or for each of them", path(), key(suffix),
                value == nullptr ? "missing" : describe(*value));
  }
  if (!is_for_layers(array->size, count))
    return fail("{}: {} has {} flags, expected one for each of the {} layers", path(), key(suffix), array->size, count);
  std::vector<bool> of_each(to_size(count));
  for (std::size_t i = 0; i < of_each.size(); ++i) {
    const MetadataValue element = element_of(*array, i);
    const auto flag = as_flag(element);
    if (!flag) return fail("{}: {} is {} for layer {}, expected 0 or 1", path(), key(suffix), describe(element), i);
    of_each[i] = *flag;
  }
  return of_each;
}

Result<int> ModelKeys::num_prediction_layers(int num_in_file) const {
  if (!has(kPredictionLayers)) return 0;
  OCTAVO_TRY(const std::uint64_t count, source_.get_u64(key(kPredictionLayers)));
  if (count >= static_cast<std::uint64_t>(num_in_file))
    return fail("{}: {} is {}, expected less than {}, which is {}", path(), key(kPredictionLayers), count,
                key("block_count"), num_in_file);
  return static_cast<int>(count);
}

bool ModelKeys::is_for_layers(std::size_t size, int count) const {
  if (size == to_size(count)) return true;
  const Result<std::uint64_t> behind = source_.get_u64(key(kPredictionLayers));
  return behind && *behind < to_size(kMaxModelSize) && size == to_size(count) + *behind;
}

Result<void> ModelKeys::refuse_unread_mathematics() const {
  struct Factor {
    std::string_view suffix;
    float neutral;
    float of_writer = 0;  // llama.cpp's default, which it writes with every model that it saves, used or not
  };
  constexpr Factor kFactors[] = {{"final_logit_softcapping", 0, 30},
                                 {"attn_logit_softcapping", 0, 50},
                                 {"logit_scale", 1},
                                 {"residual_scale", 1},
                                 {"embedding_scale", 1},
                                 {"attention.temperature_scale", 0}};
  const auto pooling = source_.get_u64(key("pooling_type"));
  const bool is_saved = pooling && *pooling == kUnspecified;
  for (const auto& [suffix, neutral, of_writer] : kFactors) {
    if (read_.contains(suffix) || !has(suffix)) continue;
    OCTAVO_TRY(const float value, source_.get_f32(key(suffix)));
    if (is_saved && value == of_writer) continue;
    if (value != neutral && value != 0)
      return fail("{}: {} is {}, expected {}: this is not supported", path(), key(suffix), value, neutral);
  }
  if (!read_.contains("expert_count") && has("expert_count")) {
    OCTAVO_TRY(const std::uint64_t experts, source_.get_u64(key("expert_count")));
    if (experts != 0)
      return fail("{}: {} is {}: mixtures of experts are not supported", path(), key("expert_count"), experts);
  }
  for (const auto& [name, value] : source_.metadata())
    if (name.starts_with("prism.hadamard."))
      return fail("{}: key {} is {}: activations that a Hadamard transform rotates are not supported", path(),
                  quote(name), describe(value));
  return {};
}

Result<AttentionSpec> read_attention(const ModelKeys& keys, const ModelConfig& config, int num_heads, int num_kv_heads,
                                     std::optional<double> default_rope_base) {
  AttentionSpec attention{
      .num_heads = num_heads, .num_kv_heads = num_kv_heads, .rope = {}, .qkv_bias = Presence::kOptional};
  OCTAVO_TRY_VOID(read_head_dim(keys, config, {}, attention));
  OCTAVO_TRY(attention.rope, read_rope(keys, attention.head_dim, default_rope_base));
  return attention;
}

Result<std::vector<AttentionSpec>> read_attentions(const ModelKeys& keys, const ModelConfig& config) {
  OCTAVO_TRY(const std::vector<int> heads, keys.sizes("attention.head_count", config.num_layers()));
  OCTAVO_TRY(const std::vector<int> kv_heads, keys.sizes("attention.head_count_kv", config.num_layers()));
  std::vector<AttentionSpec> attentions(heads.size());
  for (std::size_t i = 0; i < heads.size(); ++i) {
    OCTAVO_TRY(attentions[i], read_attention(keys, config, heads[i], kv_heads[i], {}));
  }
  return attentions;
}

Result<LayerSpec> read_attention_layer(const ModelKeys& keys, const ModelConfig& config,
                                       std::optional<double> default_rope_base) {
  LayerSpec layer;
  OCTAVO_TRY(const int num_heads, keys.size("attention.head_count"));
  OCTAVO_TRY(const int num_kv_heads, keys.size_or("attention.head_count_kv", num_heads));
  OCTAVO_TRY(layer.mixer, read_attention(keys, config, num_heads, num_kv_heads, default_rope_base));
  return layer;
}

Result<LayerSpec> read_dense_layer(const ModelKeys& keys, const ModelConfig& config,
                                   std::optional<double> default_rope_base) {
  OCTAVO_TRY(LayerSpec layer, read_attention_layer(keys, config, default_rope_base));
  DenseFfnSpec feed_forward;
  OCTAVO_TRY(feed_forward.width, keys.size("feed_forward_length"));
  layer.feed_forward = feed_forward;
  return layer;
}

Result<int> read_block_count(const ModelKeys& keys) {
  if (holds_head_alone(keys)) return keys.size("block_count", kMostLayersInFrontOfHead);
  OCTAVO_TRY(const int count, keys.size("block_count"));
  const std::size_t num_tensors = keys.source().tensors().size();
  if (to_size(count) > num_tensors)
    return fail("{}: {} is {}, but the file has only {} tensors", keys.path(), keys.key("block_count"), count,
                num_tensors);
  return count;
}

Result<void> read_equal_layers(const ModelKeys& keys, const LayerSpec& layer, ModelConfig& config) {
  OCTAVO_TRY(const int num_in_file, read_block_count(keys));
  OCTAVO_TRY(config.num_skipped_layers, keys.num_prediction_layers(num_in_file));
  config.layers.assign(to_size(num_in_file - config.num_skipped_layers), layer);
  return {};
}

Result<std::vector<bool>> read_window_pattern(const ModelKeys& keys, std::optional<int> global_every, int num_layers,
                                              GlobalLayer global) {
  constexpr std::string_view kPattern = "attention.sliding_window_pattern";
  if (find_array(keys, kPattern) != nullptr) return keys.flags(kPattern, num_layers);
  const bool is_given = keys.has(kPattern) || !global_every;
  OCTAVO_TRY(const int every, is_given ? keys.count(kPattern) : Result<int>(*global_every));
  std::vector<bool> is_windowed(to_size(num_layers));
  const int behind_global = global == GlobalLayer::kFirst ? 0 : 1;
  for (int i = 0; i < num_layers; ++i) is_windowed[to_size(i)] = every == 0 || (i + behind_global) % every != 0;
  return is_windowed;
}

Result<bool> has_windows(const ModelKeys& keys) {
  constexpr std::string_view kWindow = "attention.sliding_window";
  if (!keys.has(kWindow)) return false;
  OCTAVO_TRY(const int window, keys.count(kWindow));
  return window > 0;
}

Result<void> read_windows(const ModelKeys& keys, int global_every, std::optional<int> default_window,
                          std::vector<LayerSpec>& layers, GlobalLayer global) {
  const bool is_given = keys.has("attention.sliding_window") || !default_window;
  OCTAVO_TRY(const int window, is_given ? keys.size("attention.sliding_window") : Result<int>(*default_window));
  OCTAVO_TRY(const std::vector<bool> is_windowed,
             read_window_pattern(keys, global_every, static_cast<int>(layers.size()), global));
  for (std::size_t i = 0; i < layers.size(); ++i)
    if (is_windowed[i]) layers[i].attention()->window = window;
  return {};
}

Result<void> read_windows_of_plain_positions(const ModelKeys& keys, int global_every, std::vector<LayerSpec>& layers,
                                             GlobalLayer global) {
  OCTAVO_TRY_VOID(read_windows(keys, global_every, {}, layers, global));
  for (LayerSpec& layer : layers) {
    AttentionSpec& attention = *layer.attention();
    if (attention.window == 0) continue;
    OCTAVO_TRY(const RopeSpec own, read_windowed_rope(keys, attention));
    attention.rope = {.layout = own.layout, .num_rotated = own.num_rotated, .base = own.base};
  }
  return {};
}

void forget_positions_of_global_layers(std::vector<LayerSpec>& layers) {
  for (LayerSpec& layer : layers)
    if (layer.attention()->window == 0) layer.attention()->rope = {};
}

void take_no_factors_of_feed_forward(LayerSpec& layer) {
  visit_part(layer.feed_forward, [](auto& feed_forward) { feed_forward.has_factors = false; });
}

void take_no_factors_of_feed_forwards(ModelConfig& config) {
  for (LayerSpec& layer : config.layers) take_no_factors_of_feed_forward(layer);
}

void norm_results_alone(LayerSpec& layer) {
  layer.mixer_norm = Presence::kAbsent;
  layer.ffn_norm = Presence::kAbsent;
  layer.post_norms = true;
}

Result<int> read_num_deepstack(const ModelKeys& keys, int num_layers) {
  constexpr std::string_view kLayers = "n_deepstack_layers";
  if (!keys.has(kLayers)) return 0;
  OCTAVO_TRY(const std::uint64_t count, keys.source().get_u64(keys.key(kLayers)));
  if (count > static_cast<std::uint64_t>(num_layers))
    return fail("{}: {} is {}, expected at most {}, the layers of the model", keys.path(), keys.key(kLayers), count,
                num_layers);
  return static_cast<int>(count);
}

}  // namespace octavo
