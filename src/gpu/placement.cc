#include "gpu/placement.h"

#include <algorithm>

#include "base/to_size.h"
#include "gpu/card_attention.h"
#include "gpu/card_delta.h"
#include "gpu/card_dense_ffn.h"
#include "gpu/card_experts.h"
#include "gpu/card_weights.h"
#include "gpu/kernels/act_pair.h"
#include "model/model_runner.h"

namespace octavo::gpu {
namespace {

/// Bytes that do not depend on the number of layers.
std::uint64_t scratch_bytes(const LeadingParts& parts, bool output) {
  const ModelConfig& config = parts.config;
  const std::uint64_t floats = to_size(parts.max_rows) * 2 * to_size(config.width) +
                               (output ? to_size(kMaxLogitRows) * to_size(config.vocab_size) : 0);
  return CardAttention::scratch_bytes(config, parts.max_rows) + CardDelta::scratch_bytes(config, parts.max_rows) +
         CardDenseFfn::scratch_bytes(config, parts.max_rows) + CardExperts::scratch_bytes(config, parts.max_rows) +
         act_bytes(parts.max_rows, widest_columns(config)) + floats * sizeof(float) +
         parts.weights.vectors().size_bytes();
}

std::string reason_against_output(const LeadingParts& parts) {
  if (!is_present(parts.weights.output)) return "there is no output matrix";
  return reason_against(parts.weights.output);
}

}  // namespace

std::int64_t widest_columns(const ModelConfig& config) {
  std::int64_t most = config.width;
  for (const LayerSpec& layer : config.own_layers()) {
    if (const AttentionSpec* spec = layer.attention()) most = std::max<std::int64_t>(most, spec->q_width());
    if (const DeltaSpec* spec = layer.delta()) most = std::max<std::int64_t>(most, spec->value_width());
  }
  return std::max<std::int64_t>(most, widest_feed_forward(config));
}

int widest_feed_forward(const ModelConfig& config) {
  int most = 0;
  for (const LayerSpec& layer : config.own_layers())
    if (const auto* dense = std::get_if<DenseFfnSpec>(&layer.feed_forward)) {
      most = std::max(most, dense->width);
    } else {
      most = std::max(most, std::get<ExpertsFfnSpec>(layer.feed_forward).shared_width);
    }
  return most;
}

std::string reason_against(const LeadingParts& parts) {
  if (parts.room.layout.is_contiguous()) return "its keys and values are to lie in one piece (--kv-layout contiguous)";
  if (parts.room.layout.type != KvType::kI16 && parts.room.layout.type != KvType::kF16)
    return "the card has kernels for --kv-type i16 and f16 alone";
  if (parts.config.norm != NormKind::kRms) return "its norms are LayerNorm";
  if (parts.config.per_layer_width > 0) return "its layers read embeddings of their own";
  return reason_against(parts.config.layer(0), parts.weights.layers.front());
}

std::uint64_t room_on(const CudaDevice& device) {
  constexpr std::uint64_t kReserve = std::uint64_t{256} << 20;
  const std::uint64_t free = device.free_bytes();
  return free - std::min(free, kReserve);
}

Placement place_layers(const LeadingParts& parts, std::uint64_t room) {
  Placement placed{.reason = reason_against(parts)};
  const int wanted = parts.options.gpu_layers, all = parts.config.num_layers();
  if (wanted == 0 || !placed.reason.empty()) return placed;
  placed.bytes = scratch_bytes(parts, false);
  const auto fits = [&](std::uint64_t bytes) {
    if (placed.bytes + bytes <= room) return true;
    placed.reason = "its memory is full then";
    return false;
  };
  for (int i = 0; i < all && (wanted < 0 || i < wanted); ++i) {
    const LayerWeights& weights = parts.weights.layers[to_size(i)];
    placed.reason = reason_against(parts.config.layer(i), weights);
    const std::uint64_t bytes = matrix_bytes(weights), with_state = bytes + CardAttention::kv_bytes(parts.room, i) +
                                                                    CardDelta::state_bytes(parts.config, parts.room, i);
    if (!placed.reason.empty() || !fits(with_state)) break;
    if (placed.num_layers == 0) placed.weight_bytes = parts.weights.vectors().size_bytes();
    placed.num_layers = i + 1;
    placed.weight_bytes += bytes;
    placed.bytes += with_state;
  }
  if (placed.num_layers < all || (wanted >= 0 && wanted <= all)) return placed;
  placed.reason = reason_against_output(parts);
  const std::uint64_t output = parts.weights.output.bytes(),
                      with_rows = output + scratch_bytes(parts, true) - scratch_bytes(parts, false);
  if (!placed.reason.empty() || !fits(with_rows)) return placed;
  placed.output = true;
  placed.weight_bytes += output;
  placed.bytes += with_rows;
  return placed;
}

}  // namespace octavo::gpu
