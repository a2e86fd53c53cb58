// Qwen3-Next and Qwen3-Coder-Next (Yang et al., 2025): the layers of Qwen 3.5's mixtures, whose value heads lie by key
// head, as the original has them.
#include "model/architectures/architectures.h"
#include "model/architectures/experts_keys.h"
#include "model/architectures/qwen35_layers.h"

namespace octavo {

Result<void> read_qwen3next(const ModelKeys& keys, ModelConfig& config) {
  OCTAVO_TRY(LayerSpec layer, read_attention_layer(keys, config));
  OCTAVO_TRY(const int width, keys.size("expert_feed_forward_length"));
  OCTAVO_TRY(ExpertsFfnSpec experts, read_routed_experts(keys, width, {}, SumsToOne::kAlways));
  OCTAVO_TRY(experts.shared_width, keys.size("expert_shared_feed_forward_length"));
  layer.feed_forward = experts;
  return read_delta_layers(keys, layer, true, config);
}

}  // namespace octavo
