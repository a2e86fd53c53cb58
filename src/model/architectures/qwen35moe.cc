// Qwen 3.5 and 3.6 with experts: 35B-A3B, 122B-A10B, 397B-A17B. Beside the chosen experts one computes every row.
#include "model/architectures/architectures.h"
#include "model/architectures/experts_keys.h"
#include "model/architectures/qwen35_layers.h"

namespace octavo {

Result<void> read_qwen35moe(const ModelKeys& keys, ModelConfig& config) {
  OCTAVO_TRY(LayerSpec layer, read_attention_layer(keys, config));
  OCTAVO_TRY(const int width, keys.size("expert_feed_forward_length"));
  OCTAVO_TRY(ExpertsFfnSpec experts, read_experts(keys, width));
  OCTAVO_TRY(experts.shared_width, keys.size("expert_shared_feed_forward_length"));
  layer.feed_forward = experts;
  return read_qwen35_layers(keys, layer, config);
}

}  // namespace octavo
