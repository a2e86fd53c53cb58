// Nomic Embed (Nussbaum et al., 2024): BERT with rotary positions and gated feed-forwards. Its mixture (Nussbaum and
// Duderstadt, 2025) has feed-forwards without gates, and experts in every second layer.
#include "model/architectures/architectures.h"
#include "model/architectures/encoder_keys.h"
#include "model/architectures/experts_keys.h"

namespace octavo {

Result<void> read_nomic_bert(const ModelKeys& keys, ModelConfig& config) {
  OCTAVO_TRY(LayerSpec layer, read_bert_layer(keys, config, true));
  auto& dense = std::get<DenseFfnSpec>(layer.feed_forward);
  dense.is_gated = true;
  dense.activation = Activation::kSilu;
  OCTAVO_TRY_VOID(read_equal_layers(keys, layer, config));
  make_encoder(config);
  return {};
}

Result<void> read_nomic_bert_moe(const ModelKeys& keys, ModelConfig& config) {
  OCTAVO_TRY(const LayerSpec layer, read_bert_layer(keys, config, true));
  OCTAVO_TRY_VOID(read_equal_layers(keys, layer, config));
  OCTAVO_TRY(const int every, keys.size("moe_every_n_layers"));
  OCTAVO_TRY(ExpertsFfnSpec experts, read_experts(keys, std::get<DenseFfnSpec>(layer.feed_forward).width));
  experts.is_gated = false;
  experts.router.sums_to_one = false;
  experts.activation = Activation::kGelu;
  for (std::size_t i = 0; i < config.layers.size(); ++i)
    if (i % to_size(every) == 1) config.layers[i].feed_forward = experts;
  make_encoder(config);
  return {};
}

}  // namespace octavo
