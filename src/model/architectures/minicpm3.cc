// MiniCPM 3 (OpenBMB, 2024): latent attention, and the scales of MiniCPM, which no key says.
#include <cmath>

#include "model/architectures/architectures.h"
#include "model/architectures/latent_keys.h"

namespace octavo {
namespace {

// scale_emb, scale_depth and dim_model_base of the family's config.json.
constexpr float kEmbeddingScale = 12, kDepthScale = 1.4F, kBaseWidth = 256;

}  // namespace

Result<void> read_minicpm3(const ModelKeys& keys, ModelConfig& config) {
  constexpr double kRopeBase = 10000;
  OCTAVO_TRY(LayerSpec layer, read_latent_layer(keys, config, RopeLayout::kHalves, kRopeBase));
  DenseFfnSpec feed_forward;
  OCTAVO_TRY(feed_forward.width, keys.size("feed_forward_length"));
  layer.feed_forward = feed_forward;
  take_no_factors_of_feed_forward(layer);
  OCTAVO_TRY_VOID(read_equal_layers(keys, layer, config));
  config.embedding_scale = kEmbeddingScale;
  config.residual_scale = kDepthScale / std::sqrt(static_cast<float>(config.num_layers()));
  config.logit_scale = kBaseWidth / static_cast<float>(config.width);
  return {};
}

}  // namespace octavo
