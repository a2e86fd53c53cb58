#include "model/model_state.h"

#include <array>

#include "kv/kv_budget.h"

namespace octavo {
namespace {

KvNeed need_of(const StateLayout& layout, std::int64_t num_tokens) {
  KvNeed need{.bytes_per_token = layout.bytes_per_token(),
              .bytes = layout.snapshot.bytes,
              .recurrent_bytes = layout.snapshot.bytes};
  for (int g = 0; g < layout.num_groups(); ++g) {
    const std::int64_t blocks = blocks_of_sequence(num_tokens, layout.group(g).window, layout.block_size);
    need.bytes += static_cast<std::uint64_t>(blocks) * layout.block_bytes(g);
  }
  return need;
}

/// The layout of a model that was read from a file; its family has checked its specs.
StateLayout checked_layout(const ModelConfig& config, KvType type, int block_size) {
  Result<StateLayout> layout = state_layout(config, type, KvLayout::kPaged, block_size);
  OCTAVO_CHECK(layout.has_value(), "{}", layout.error().message);
  return std::move(*layout);
}

}  // namespace

Result<StateLayout> state_layout(const ModelConfig& config, KvType type, KvLayout layout, int block_size) {
  std::vector<std::optional<KvLayerShape>> layers;
  std::vector<std::size_t> recurrent_bytes;
  for (const LayerSpec& layer : config.layers) {
    layers.push_back(layer.kv_shape());
    if (config.is_encoder) {  // each layer overwrites the KV of the layer before
      layers.back()->window = 0;
      if (layers.size() > 1) layers.back()->borrows_from = 0;
    }
    recurrent_bytes.push_back(layer.state_bytes());
  }
  if (config.has_draft_head) recurrent_bytes.back() = to_size(config.width) * sizeof(float);
  return StateLayout::create(type, layout, block_size, layers, recurrent_bytes);
}

KvNeed kv_need(const ModelConfig& config, KvType type, int block_size, std::int64_t num_tokens) {
  return need_of(checked_layout(config, type, block_size), num_tokens);
}

std::uint64_t kv_bytes_of_token(const KvLayerShape& shape, KvType type) {
  KvLayerShape own = shape;  // a layer that borrows reads as many bytes
  own.borrows_from.reset();
  const std::array<std::optional<KvLayerShape>, 1> alone = {own};
  const Result<StateLayout> layout = StateLayout::create(type, KvLayout::kPaged, kDefaultBlockSize, alone);
  OCTAVO_CHECK(layout.has_value(), "{}", layout.error().message);
  return layout->bytes_per_token();
}

int largest_context(const ModelConfig& config, KvType type, int block_size, std::uint64_t budget) {
  const StateLayout layout = checked_layout(config, type, block_size);
  int fits = 0, beyond = config.context_length + 1;
  while (beyond - fits > 1) {
    const int tried = fits + (beyond - fits) / 2;
    (need_of(layout, tried).bytes <= budget ? fits : beyond) = tried;
  }
  return fits;
}

std::uint64_t default_kv_memory(std::uint64_t available_bytes, std::uint64_t mapped_weight_bytes) {
  const std::uint64_t left = available_bytes - std::min(available_bytes, mapped_weight_bytes);
  return std::max(left / 2, available_bytes / 8);
}

}  // namespace octavo
