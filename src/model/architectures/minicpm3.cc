// MiniCPM 3 (OpenBMB, 2024): latent attention, and the scales of MiniCPM, which no key says.
#include "model/architectures/architectures.h"
#include "model/architectures/latent_keys.h"
#include "model/architectures/scale_keys.h"

namespace octavo {
Result<void> read_minicpm3(const ModelKeys& keys, ModelConfig& config) {
  constexpr double kRopeBase = 10000;
  OCTAVO_TRY(LayerSpec layer, read_latent_layer(keys, config, RopeLayout::kHalves, kRopeBase));
  DenseFfnSpec feed_forward;
  OCTAVO_TRY(feed_forward.width, keys.size("feed_forward_length"));
  layer.feed_forward = feed_forward;
  take_no_factors_of_feed_forward(layer);
  OCTAVO_TRY_VOID(read_equal_layers(keys, layer, config));
  set_scales_of_minicpm(config);
  return {};
}

}  // namespace octavo
