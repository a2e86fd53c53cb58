// The tensors of each part of a model, by its specs.
#include <cmath>

#include "base/to_size.h"
#include "model/weight_loader.h"
#include "source/tensor_names.h"

namespace octavo {

Result<void> WeightLoader::list_mixer(int layer, const AttentionSpec& spec, LayerWeights& w) {
  const auto name = [layer](std::string_view suffix) { return tensor_names::of_layer(layer, suffix); };
  AttentionWeights& a = w.mixer.emplace<AttentionWeights>();
  OCTAVO_TRY_VOID(vector(name(tensor_names::kAttentionNorm), config_.width, Presence::kRequired, w.mixer_norm));
  OCTAVO_TRY_VOID(qkv(layer, spec, a));
  OCTAVO_TRY_VOID(vector(name(tensor_names::kQNorm), spec.head_dim, spec.qk_norm, a.q_norm));
  if (!spec.borrows_from) OCTAVO_TRY_VOID(vector(name(tensor_names::kKNorm), spec.head_dim, spec.qk_norm, a.k_norm));
  OCTAVO_TRY_VOID(vector(name(tensor_names::kSinks), spec.num_heads, spec.sinks, a.sinks));
  OCTAVO_TRY_VOID(matrix(name(tensor_names::kAttentionOutput), config_.width, spec.q_width(), a.o));
  return vector(name(tensor_names::kAttentionOutputBias), config_.width, spec.output_bias, a.o_bias);
}

Result<void> WeightLoader::qkv(int layer, const AttentionSpec& spec, AttentionWeights& w) {
  const auto name = [layer](std::string_view suffix) { return tensor_names::of_layer(layer, suffix); };
  if (source_.find_tensor(name(tensor_names::kQkv)) != nullptr) return fused_qkv(layer, spec, w);
  OCTAVO_TRY_VOID(matrix(name(tensor_names::kQ), spec.q_rows(), config_.width, w.q));
  if (!spec.borrows_from) {
    OCTAVO_TRY_VOID(matrix(name(tensor_names::kK), spec.kv_width(), config_.width, w.k));
    if (!spec.v_is_k) OCTAVO_TRY_VOID(matrix(name(tensor_names::kV), spec.kv_width(), config_.width, w.v));
  }
  return qkv_biases(layer, spec, w);
}

/// A layer that borrows takes Q alone.
Result<void> WeightLoader::fused_qkv(int layer, const AttentionSpec& spec, AttentionWeights& w) {
  const std::string name = tensor_names::of_layer(layer, tensor_names::kQkv);
  OCTAVO_TRY(const SourceTensor* tensor,
             find(name, spec.q_rows() + 2 * spec.kv_width(), config_.width, Presence::kRequired));
  std::int64_t first = 0;
  for (WeightMatrix* part : {&w.q, &w.k, &w.v}) {
    const std::int64_t rows = part == &w.q ? spec.q_rows() : spec.kv_width();
    *part = {.type = tensor->tensor.type, .rows = rows, .cols = config_.width};
    matrices_.push_back({tensor, part, 1, first});
    OCTAVO_TRY_VOID(scale(name, 1, *part));
    if (spec.borrows_from) break;
    first += rows;
  }
  return qkv_biases(layer, spec, w);
}

/// One tensor may hold all three, whether or not one holds the weights.
Result<void> WeightLoader::qkv_biases(int layer, const AttentionSpec& spec, AttentionWeights& w) {
  const std::string fused = tensor_names::of_layer(layer, tensor_names::kQkvBias);
  const bool is_fused = spec.qkv_bias != Presence::kAbsent && source_.find_tensor(fused) != nullptr;
  std::int64_t first = 0;
  for (const auto& [suffix, target] :
       {std::pair{tensor_names::kQBias, &w.q_bias}, std::pair{tensor_names::kKBias, &w.k_bias},
        std::pair{tensor_names::kVBias, &w.v_bias}}) {
    const std::int64_t size = target == &w.q_bias ? spec.q_rows() : spec.kv_width();
    if (is_fused) {
      OCTAVO_TRY_VOID(vector(fused, spec.q_rows() + 2 * spec.kv_width(), spec.qkv_bias, *target));
      vectors_.back().first = first;
      vectors_.back().size = size;
    } else {
      OCTAVO_TRY_VOID(vector(tensor_names::of_layer(layer, suffix), size, spec.qkv_bias, *target));
    }
    if (spec.borrows_from) break;
    first += size;
  }
  return {};
}

Result<void> WeightLoader::list_mixer(int layer, const DeltaSpec& spec, LayerWeights& w) {
  const auto name = [layer](std::string_view suffix) { return tensor_names::of_layer(layer, suffix); };
  const int heads = spec.num_value_heads;
  DeltaWeights& d = w.mixer.emplace<DeltaWeights>();
  OCTAVO_TRY_VOID(vector(name(tensor_names::kAttentionNorm), config_.width, Presence::kRequired, w.mixer_norm));
  OCTAVO_TRY_VOID(matrix(name(tensor_names::kQkv), spec.num_channels(), config_.width, d.qkv));
  OCTAVO_TRY_VOID(matrix(name(tensor_names::kDeltaGate), spec.value_width(), config_.width, d.gate));
  OCTAVO_TRY_VOID(matrix(name(tensor_names::kDecay), heads, config_.width, d.decay));
  OCTAVO_TRY_VOID(matrix(name(tensor_names::kBeta), heads, config_.width, d.beta));
  OCTAVO_TRY_VOID(transposed(name(tensor_names::kConvolution), spec.num_channels(), spec.taps, d.taps));
  OCTAVO_TRY_VOID(vector(name(tensor_names::kDecayBias), heads, Presence::kRequired, d.decay_bias));
  OCTAVO_TRY_VOID(vector(name(tensor_names::kDecayScale), heads, Presence::kRequired, d.decay_scale));
  OCTAVO_TRY_VOID(vector(name(tensor_names::kDeltaNorm), spec.value_dim, Presence::kRequired, d.norm));
  return matrix(name(tensor_names::kDeltaOutput), config_.width, spec.value_width(), d.output);
}

Result<void> WeightLoader::list_feed_forward(int layer, const DenseFfnSpec& spec, LayerWeights& w) {
  const auto name = [layer](std::string_view suffix) { return tensor_names::of_layer(layer, suffix); };
  DenseFfnWeights& f = w.feed_forward.emplace<DenseFfnWeights>();
  OCTAVO_TRY_VOID(matrix(name(tensor_names::kGate), spec.width, config_.width, f.gate, spec.has_factors));
  OCTAVO_TRY_VOID(matrix(name(tensor_names::kUp), spec.width, config_.width, f.up, spec.has_factors));
  OCTAVO_TRY_VOID(matrix(name(tensor_names::kDown), config_.width, spec.width, f.down, spec.has_factors));
  OCTAVO_TRY_VOID(scaled_bias(name(tensor_names::kGateBias), f.gate, spec.biases, f.gate_bias));
  OCTAVO_TRY_VOID(scaled_bias(name(tensor_names::kUpBias), f.up, spec.biases, f.up_bias));
  return scaled_bias(name(tensor_names::kDownBias), f.down, spec.biases, f.down_bias);
}

Result<void> WeightLoader::list_feed_forward(int layer, const ExpertsFfnSpec& spec, LayerWeights& w) {
  const auto name = [layer](std::string_view suffix) { return tensor_names::of_layer(layer, suffix); };
  ExpertsFfnWeights& f = w.feed_forward.emplace<ExpertsFfnWeights>();
  f.num_chosen = spec.num_chosen;
  OCTAVO_TRY_VOID(plain_matrix(name(tensor_names::kRouter), spec.num_experts, config_.width, f.router));
  OCTAVO_TRY_VOID(vector(name(tensor_names::kRouterBias), spec.num_experts, spec.biases, f.router_bias));
  OCTAVO_TRY_VOID(gate_and_up(layer, spec, f));
  OCTAVO_TRY_VOID(experts(name(tensor_names::kDownOfExperts), spec, config_.width, spec.width, f.down));
  if (f.down.first.type != DType::kNVFP4)  // there it is a factor of the weights
    OCTAVO_TRY_VOID(vector(name(tensor_names::kResultScales), spec.num_experts, spec.result_scales, f.result_scales));
  if (spec.own_norms) OCTAVO_TRY_VOID(list_own_norms(layer, f));
  return spec.shared_width == 0 ? Result<void>{} : list_shared(layer, spec, f);
}

Result<void> WeightLoader::list_shared(int layer, const ExpertsFfnSpec& spec, ExpertsFfnWeights& w) {
  const auto name = [&](std::string_view gated, std::string_view dense) {
    return tensor_names::of_layer(layer, spec.shared_is_gated ? gated : dense);
  };
  if (spec.shared_is_gated)
    OCTAVO_TRY_VOID(
        matrix(tensor_names::of_layer(layer, tensor_names::kSharedExpertGate), 1, config_.width, w.shared_gate));
  OCTAVO_TRY_VOID(matrix(name(tensor_names::kGateOfSharedExpert, tensor_names::kGate), spec.shared_width, config_.width,
                         w.shared.gate));
  OCTAVO_TRY_VOID(
      matrix(name(tensor_names::kUpOfSharedExpert, tensor_names::kUp), spec.shared_width, config_.width, w.shared.up));
  return matrix(name(tensor_names::kDownOfSharedExpert, tensor_names::kDown), config_.width, spec.shared_width,
                w.shared.down);
}

Result<void> WeightLoader::list_own_norms(int layer, ExpertsFfnWeights& w) {
  const auto norm = [&](std::string_view name, const float*& target) {
    return vector(tensor_names::of_layer(layer, name), config_.width, Presence::kRequired, target);
  };
  OCTAVO_TRY_VOID(norm(tensor_names::kRouterNorm, w.router_norm));
  vectors_.back().factor = 1 / std::sqrt(static_cast<float>(config_.width));
  OCTAVO_TRY_VOID(norm(tensor_names::kExpertsNorm, w.experts_norm));
  OCTAVO_TRY_VOID(norm(tensor_names::kPostExpertsNorm, w.post_experts_norm));
  return norm(tensor_names::kPostSharedNorm, w.post_shared_norm);
}

Result<void> WeightLoader::list_layer(int layer, LayerWeights& w) {
  const LayerSpec& spec = config_.layer(layer);
  OCTAVO_TRY_VOID(std::visit([&](const auto& mixer) { return list_mixer(layer, mixer, w); }, spec.mixer));
  const std::string_view norm =
      spec.ffn_norm_is_post_attention ? tensor_names::kPostAttentionNorm : tensor_names::kFfnNorm;
  OCTAVO_TRY_VOID(vector(tensor_names::of_layer(layer, norm), config_.width, Presence::kRequired, w.ffn_norm));
  OCTAVO_TRY_VOID(std::visit([&](const auto& ffn) { return list_feed_forward(layer, ffn, w); }, spec.feed_forward));
  const Presence post_norms = spec.post_norms ? Presence::kRequired : Presence::kAbsent;
  OCTAVO_TRY_VOID(vector(tensor_names::of_layer(layer, tensor_names::kPostAttentionNorm), config_.width, post_norms,
                         w.post_mixer_norm));
  OCTAVO_TRY_VOID(
      vector(tensor_names::of_layer(layer, tensor_names::kPostFfnNorm), config_.width, post_norms, w.post_ffn_norm));
  const Presence output_scale = spec.output_scale ? Presence::kRequired : Presence::kAbsent;
  OCTAVO_TRY_VOID(vector(tensor_names::of_layer(layer, tensor_names::kOutputScale), 1, output_scale, w.output_scale));
  return config_.per_layer_width > 0 ? list_per_layer(layer, w.per_layer) : Result<void>{};
}

Result<void> WeightLoader::list_per_layer(int layer, PerLayerWeights& w) {
  const auto name = [layer](std::string_view suffix) { return tensor_names::of_layer(layer, suffix); };
  OCTAVO_TRY_VOID(matrix(name(tensor_names::kPerLayerGate), config_.per_layer_width, config_.width, w.gate));
  OCTAVO_TRY_VOID(matrix(name(tensor_names::kPerLayerUp), config_.width, config_.per_layer_width, w.up));
  return vector(name(tensor_names::kPerLayerPostNorm), config_.width, Presence::kRequired, w.post_norm);
}

Result<void> WeightLoader::list_per_layer(PerLayerTables& w) {
  if (config_.per_layer_width == 0) return {};
  const std::int64_t inputs = std::int64_t{config_.num_layers()} * config_.per_layer_width;
  OCTAVO_TRY_VOID(matrix(std::string(tensor_names::kPerLayerTable), config_.vocab_size, inputs, w.table));
  OCTAVO_TRY_VOID(matrix(std::string(tensor_names::kPerLayerProjection), inputs, config_.width, w.projection));
  return vector(std::string(tensor_names::kPerLayerNorm), config_.per_layer_width, Presence::kRequired, w.norm);
}

/// One tensor for all layers whose positions it changes.
Result<void> WeightLoader::list_rope_factors(Weights& w) {
  for (const LayerSpec& layer : config_.layers) {
    const AttentionSpec* attention = layer.attention();
    if (attention == nullptr || attention->rope.factors == Presence::kAbsent) continue;
    return vector(std::string(tensor_names::kRopeFactors), attention->rope.num_rotated / 2, attention->rope.factors,
                  w.rope_factors);
  }
  return {};
}

Result<void> WeightLoader::list(Weights& w) {
  const std::string embedding(tensor_names::kEmbedding), output(tensor_names::kOutput);
  OCTAVO_TRY_VOID(matrix(embedding, config_.vocab_size, config_.width, w.embedding));
  OCTAVO_TRY_VOID(vector(std::string(tensor_names::kOutputNorm), config_.width, Presence::kRequired, w.output_norm));
  if (!config_.tied_output) OCTAVO_TRY_VOID(matrix(output, config_.vocab_size, config_.width, w.output));
  OCTAVO_TRY_VOID(
      vector(std::string(tensor_names::kOutputBias), config_.vocab_size, config_.logit_bias, w.output_bias));
  OCTAVO_TRY_VOID(list_rope_factors(w));
  OCTAVO_TRY_VOID(list_per_layer(w.per_layer));
  w.layers.resize(config_.layers.size());
  for (int i = 0; i < config_.num_layers(); ++i) OCTAVO_TRY_VOID(list_layer(i, w.layers[to_size(i)]));
  return check_all_used();
}

}  // namespace octavo
