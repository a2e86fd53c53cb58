// Hunyuan, dense (Tencent, 2025): heads of Q and K are normed after their rotation.
#include "model/architectures/architectures.h"

namespace octavo {
namespace {

/// Most files have the stretched base; others have the power by which the base grows, as in NTK-aware scaling.
Result<void> stretch_base(const ModelKeys& keys, int head_dim, RopeSpec& rope) {
  constexpr std::string_view kAlpha = "rope.scaling.alpha";
  if (!keys.has(kAlpha)) return {};
  OCTAVO_TRY(const double alpha, keys.not_negative(kAlpha));
  if (alpha == 0) return {};
  if (head_dim <= 2)
    return fail("{}: {} is {} for heads of {} dimensions, expected more than 2", keys.path(), keys.key(kAlpha), alpha,
                head_dim);
  rope.base *= keys.math().pow(alpha, static_cast<double>(head_dim) / (head_dim - 2));
  return {};
}

}  // namespace

Result<void> read_hunyuan_dense(const ModelKeys& keys, ModelConfig& config) {
  OCTAVO_TRY(LayerSpec layer, read_dense_layer(keys, config));
  AttentionSpec& attention = *layer.attention();
  attention.qk_norm = Presence::kRequired;
  attention.qk_norm_after_rope = true;
  take_no_factors_of_feed_forward(layer);
  OCTAVO_TRY_VOID(stretch_base(keys, attention.head_dim, attention.rope));
  return read_equal_layers(keys, layer, config);
}

}  // namespace octavo
