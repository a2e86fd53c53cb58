#include "model/architectures/encoder_keys.h"

#include <algorithm>
#include <utility>

#include "source/sentence_names.h"
#include "source/tensor_names.h"
#include "source/unspecified.h"

namespace octavo {
namespace {

constexpr std::string_view kTokenTypeCount = "tokenizer.ggml.token_type_count";
constexpr int kMostTokenTypes = 16;
constexpr int kMostScores = 1024;

/// Reads a pooling, which files number as the enum does. llama.cpp writes the key into every model that it saves, so
/// its value may be "unspecified".
Result<std::optional<Pooling>> read_pooling(const ModelKeys& keys, std::string_view suffix) {
  if (!keys.has(suffix)) return std::optional<Pooling>();
  constexpr auto kLast = std::to_underlying(Pooling::kRank);
  OCTAVO_TRY(const std::uint64_t value, keys.source().get_u64(keys.key(suffix)));
  if (value == kUnspecified) return std::optional<Pooling>();
  if (value > kLast) return fail("{}: {} is {}, expected 0 to {}", keys.path(), keys.key(suffix), value, kLast);
  return std::optional(static_cast<Pooling>(value));
}

/// Reads the labels. llama.cpp writes an empty list into every model that it saves.
Result<void> read_labels(const ModelKeys& keys, HeadSpec& head) {
  constexpr std::string_view kLabels = "classifier.output_labels";
  if (!keys.has(kLabels)) return {};
  OCTAVO_TRY(const std::span<const std::string_view> labels, keys.source().get_strings(keys.key(kLabels)));
  if (labels.empty()) return {};
  if (labels.size() != to_size(head.num_scores))
    return fail("{}: {} has {} names, expected {}: so many rows has {}", keys.path(), keys.key(kLabels), labels.size(),
                head.num_scores, tensor_names::kScores);
  head.labels.assign(labels.begin(), labels.end());
  return {};
}

/// Reads the matrices after the pooled row; without them the row itself is the vector.
Result<void> read_head(const ModelKeys& keys, ModelConfig& config) {
  HeadSpec& head = config.head;
  const ModelSource& source = keys.source();
  head.width = config.width;
  if (const SourceTensor* vector = source.find_tensor(tensor_names::kVector)) {
    if (vector->tensor.rows < 1 || vector->tensor.rows > kMaxModelSize)
      return fail("{}: tensor {} has {} rows, expected 1 to {}", keys.path(), tensor_names::kVector,
                  vector->tensor.rows, kMaxModelSize);
    head.width = static_cast<int>(vector->tensor.rows);
  }
  const SourceTensor* scores = source.find_tensor(tensor_names::kScores);
  if (scores == nullptr) return {};
  if (scores->tensor.rows < 1 || scores->tensor.rows > kMostScores)
    return fail("{}: tensor {} has {} rows, expected 1 to {}", keys.path(), tensor_names::kScores, scores->tensor.rows,
                kMostScores);
  head.num_scores = static_cast<int>(scores->tensor.rows);
  OCTAVO_TRY(const std::optional<Pooling> pooling, read_pooling(keys, "classifier.pooling_type"));
  if (pooling) head.pooling = *pooling;
  if (head.pooling == Pooling::kNone || head.pooling == Pooling::kRank)
    return fail("{}: {} is {}, expected mean, cls or last", keys.path(), keys.key("classifier.pooling_type"),
                pooling_name(head.pooling));
  return read_labels(keys, head);
}

}  // namespace

void make_encoder(ModelConfig& config) {
  config.is_encoder = true;
  for (LayerSpec& layer : config.layers)
    if (AttentionSpec* attention = layer.attention()) attention->is_causal = false;
}

Result<LayerSpec> read_bert_layer(const ModelKeys& keys, ModelConfig& config, bool has_rope) {
  config.norm = NormKind::kLayer;
  config.embedding_norm = Presence::kRequired;
  config.output_norm = Presence::kAbsent;
  if (!has_rope) config.num_positions = config.context_length;
  if (keys.source().find_tensor(tensor_names::kTokenTypes) != nullptr) {
    OCTAVO_TRY(const std::uint64_t count, keys.source().get_u64(kTokenTypeCount));
    if (count < 1 || count > kMostTokenTypes)
      return fail("{}: {} is {}, expected 1 to {}", keys.path(), kTokenTypeCount, count, kMostTokenTypes);
    config.num_token_types = static_cast<int>(count);
  }
  OCTAVO_TRY(LayerSpec layer, read_dense_layer(keys, config, 10000.0));
  layer.mixer_norm = Presence::kAbsent;
  layer.sum_norms = true;
  layer.attention()->output_bias = Presence::kOptional;
  if (!has_rope) layer.attention()->rope.num_rotated = 0;
  auto& dense = std::get<DenseFfnSpec>(layer.feed_forward);
  dense.is_gated = false;
  dense.activation = Activation::kGelu;
  dense.biases = Presence::kOptional;
  return layer;
}

Result<void> read_vectors(const ModelKeys& keys, ModelConfig& config) {
  constexpr std::string_view kCausal = "attention.causal";
  if (keys.has(kCausal)) {
    OCTAVO_TRY(const bool is_causal, keys.source().get_bool(keys.key(kCausal)));
    if (is_causal && config.is_encoder)
      return fail("{}: {} is true, expected false of an encoder", keys.path(), keys.key(kCausal));
    if (!is_causal) make_encoder(config);
  }
  for (const LayerSpec& layer : config.layers)
    if (config.is_encoder && !(layer.kv_shape() && layer.writes_state()))
      return fail("{}: {} is false, but some layers have no keys and values of their own: this is not supported",
                  keys.path(), keys.key(kCausal));
  if (!config.is_encoder) config.head.pooling = Pooling::kLast;
  OCTAVO_TRY(config.pooling, read_pooling(keys, "pooling_type"));
  if (keys.source().find(sentence_names::kMaxTokens) != nullptr) {
    OCTAVO_TRY(const std::uint64_t most, keys.source().get_u64(sentence_names::kMaxTokens));
    if (most == 0) return fail("{}: {} is 0, expected at least 1", keys.path(), sentence_names::kMaxTokens);
    config.context_length = static_cast<int>(std::min<std::uint64_t>(most, to_size(config.context_length)));
  }
  return read_head(keys, config);
}

}  // namespace octavo
