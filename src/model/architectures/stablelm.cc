// StableLM 3B and 2 (Stability AI, 2023 and 2024): LayerNorm with biases, and a part of each head rotated. The 12B's
// feed-forward reads what its attention reads, and its heads of Q and K have norms of their own.
#include "model/architectures/architectures.h"
#include "source/tensor_names.h"

namespace octavo {

Result<void> read_stablelm(const ModelKeys& keys, ModelConfig& config) {
  OCTAVO_TRY(LayerSpec layer, read_dense_layer(keys, config, 10000.0));
  config.norm = NormKind::kLayer;
  config.output_norm_bias = Presence::kRequired;
  layer.norm_biases = Presence::kRequired;
  layer.attention()->qk_norm = Presence::kOptional;
  layer.attention()->qk_norm_by_head = true;
  // The key use_parallel_residual stands in files of both kinds; the norm in those of one.
  layer.is_parallel = keys.source().find_tensor(tensor_names::of_layer(0, tensor_names::kFfnNorm)) == nullptr;
  std::get<DenseFfnSpec>(layer.feed_forward).has_factors = false;
  return read_equal_layers(keys, layer, config);
}

}  // namespace octavo
