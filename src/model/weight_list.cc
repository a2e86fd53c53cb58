// The tensors of each part of a model, by its specs.
#include "model/weight_list.h"

#include <cmath>
#include <string>
#include <string_view>

#include "model/tensor_lister.h"
#include "source/tensor_names.h"

namespace octavo {
namespace {

using LayerWeights = LayerTensors<ListedForm>;
using AttentionWeights = AttentionTensors<ListedForm>;
using DeltaWeights = DeltaTensors<ListedForm>;
using ShortConvWeights = ShortConvTensors<ListedForm>;
using MambaWeights = MambaTensors<ListedForm>;
using DenseFfnWeights = DenseFfnTensors<ListedForm>;
using ExpertsFfnWeights = ExpertsFfnTensors<ListedForm>;
using PerLayerWeights = PerLayerTensors<ListedForm>;

class WeightLister : private TensorLister {
 public:
  /// References must outlive it.
  WeightLister(const ModelSource& source, const ModelConfig& config, const MatrixTypes& types, WeightList& list)
      : TensorLister(source, config, types, list) {}

  Result<void> list();

 private:
  /// Q, K and V of a layer with their biases, in a tensor each, or in one as converters write them when asked to.
  Result<void> qkv(int layer, const AttentionSpec& spec, AttentionWeights& w);
  Result<void> fused_qkv(int layer, const AttentionSpec& spec, AttentionWeights& w);
  Result<void> qkv_biases(int layer, const AttentionSpec& spec, AttentionWeights& w);
  /// Q, the latent, and what the heads make of it.
  Result<void> latent(int layer, const AttentionSpec& spec, AttentionWeights& w);
  Result<void> joint_products(int layer, const AttentionSpec& spec, AttentionWeights& w);
  /// `name`: of the weights. A bias has the same stem.
  Result<void> experts(const std::string& name, const ExpertsFfnSpec& spec, std::int64_t rows, std::int64_t cols,
                       ExpertsIndex& target);
  /// Gate and up of all experts, in a tensor each or in one.
  Result<void> gate_and_up(int layer, const ExpertsFfnSpec& spec, ExpertsFfnWeights& w);
  Result<const SourceTensor*> find_experts(const std::string& name, const ExpertsFfnSpec& spec, std::int64_t rows,
                                           std::int64_t cols) {
    return find_several(name, spec.num_experts, "experts", rows, cols);
  }
  Result<void> list_shared(int layer, const ExpertsFfnSpec& spec, ExpertsFfnWeights& w);
  Result<void> list_own_norms(int layer, ExpertsFfnWeights& w);
  Result<void> list_layer(int layer, LayerWeights& w);
  Result<void> list_mixer(int layer, const AttentionSpec& spec, LayerWeights& w);
  Result<void> list_mixer(int layer, const DeltaSpec& spec, LayerWeights& w);
  Result<void> list_mixer(int layer, const ShortConvSpec& spec, LayerWeights& w);
  Result<void> list_mixer(int layer, const MambaSpec& spec, LayerWeights& w);
  Result<void> list_mamba(int layer, const MambaSpec& spec, MambaWeights& w);
  static Result<void> list_mixer(int /*layer*/, const NoPart& /*spec*/, LayerWeights& w);
  Result<void> list_feed_forward(int layer, const DenseFfnSpec& spec, LayerWeights& w);
  Result<void> list_feed_forward(int layer, const ExpertsFfnSpec& spec, LayerWeights& w);
  static Result<void> list_feed_forward(int /*layer*/, const NoPart& /*spec*/, LayerWeights& w);
  Result<void> list_sum_norms(int layer, LayerWeights& w);
  Result<void> list_per_layer(int layer, PerLayerWeights& w);
  Result<void> list_per_layer_tables();
  Result<void> list_draft_head(DraftHeadTensors<ListedForm>& w);
  Result<void> list_assistant(AssistantTensors<ListedForm>& w);
  Result<void> list_embeddings();
  /// The matrix of a head, which may be absent.
  Result<void> head_matrix(std::string_view name, std::int64_t rows, std::int64_t cols, WeightIndex& target);
  Result<void> list_head();
  Result<void> list_rope_factors();
};

Result<void> WeightLister::experts(const std::string& name, const ExpertsFfnSpec& spec, std::int64_t rows,
                                   std::int64_t cols, ExpertsIndex& target) {
  OCTAVO_TRY(const SourceTensor* tensor, find_experts(name, spec, rows, cols));
  target.index =
      add({.source = tensor, .type = type_of(*tensor), .rows = rows, .cols = cols, .count = spec.num_experts});
  WeightIndex bias;
  OCTAVO_TRY_VOID(vectors(stem_of(name) + ".bias", spec.num_experts, rows, spec.biases, bias));
  list_.matrices[to_size(target.index.value)].bias = bias;
  const bool is_nvfp4 = tensor->tensor.type == DType::kNVFP4;
  if (!is_nvfp4 && spec.result_scales != Presence::kAbsent) return {};  // what stands beside them are these
  return scale(name, spec.num_experts, target.index, spec.has_factors || is_nvfp4);
}

Result<void> WeightLister::gate_and_up(int layer, const ExpertsFfnSpec& spec, ExpertsFfnWeights& w) {
  const int row_width = spec.row_width(config_.width);
  if (!spec.is_gated)
    return experts(tensor_names::of_layer(layer, tensor_names::kUpOfExperts), spec, spec.width, row_width, w.gate);
  const std::string both = tensor_names::of_layer(layer, tensor_names::kGateUpOfExperts);
  if (source_.find_tensor(both) == nullptr) {
    OCTAVO_TRY_VOID(
        experts(tensor_names::of_layer(layer, tensor_names::kGateOfExperts), spec, spec.width, row_width, w.gate));
    return experts(tensor_names::of_layer(layer, tensor_names::kUpOfExperts), spec, spec.width, row_width, w.up);
  }
  const std::int64_t rows = 2 * std::int64_t{spec.width};
  OCTAVO_TRY(const SourceTensor* tensor, find_experts(both, spec, rows, row_width));
  if (spec.biases != Presence::kAbsent || tensor->tensor.type == DType::kNVFP4)
    return fail("{}: tensor {} holds gate and up in one, which is not supported with biases or in {}", source_.name(),
                both, dtype_info(tensor->tensor.type).name);
  for (ExpertsIndex* half : {&w.gate, &w.up})
    half->index = add({.source = tensor,
                       .type = type_of(*tensor),
                       .rows = spec.width,
                       .cols = row_width,
                       .count = spec.num_experts,
                       .first_row = half == &w.up ? spec.width : 0,
                       .row_step = rows});
  return {};
}

Result<void> WeightLister::list_mixer(int layer, const AttentionSpec& spec, LayerWeights& w) {
  const auto name = [layer](std::string_view suffix) { return tensor_names::of_layer(layer, suffix); };
  AttentionWeights& a = w.mixer.emplace<AttentionWeights>();
  OCTAVO_TRY_VOID(
      vector(name(tensor_names::kAttentionNorm), config_.width, config_.layer(layer).mixer_norm, w.mixer_norm));
  OCTAVO_TRY_VOID(vector(name(tensor_names::kAttentionNormBias), config_.width, config_.layer(layer).norm_biases,
                         w.mixer_norm_bias));
  OCTAVO_TRY_VOID(qkv(layer, spec, a));
  OCTAVO_TRY_VOID(vectors(name(tensor_names::kQNorm), spec.num_q_norms(), spec.q_norm_width(), spec.qk_norm, a.q_norm));
  if (!spec.borrows_from)
    OCTAVO_TRY_VOID(
        vectors(name(tensor_names::kKNorm), spec.num_k_norms(), spec.k_norm_width(), spec.qk_norm, a.k_norm));
  OCTAVO_TRY_VOID(vector(name(tensor_names::kSinks), spec.num_heads, spec.sinks, a.sinks));
  if (spec.output_gate)
    OCTAVO_TRY_VOID(matrix(name(tensor_names::kGateOfMixer), spec.gate_rows(), config_.width, a.gate, false));
  OCTAVO_TRY_VOID(matrix(name(tensor_names::kAttentionOutput), config_.width, spec.result_width(), a.o));
  return vector(name(tensor_names::kAttentionOutputBias), config_.width, spec.output_bias, a.o_bias);
}

Result<void> WeightLister::qkv(int layer, const AttentionSpec& spec, AttentionWeights& w) {
  const auto name = [layer](std::string_view suffix) { return tensor_names::of_layer(layer, suffix); };
  if (spec.latent) return latent(layer, spec, w);
  if (source_.find_tensor(name(tensor_names::kQkv)) != nullptr) return fused_qkv(layer, spec, w);
  OCTAVO_TRY_VOID(matrix(name(tensor_names::kQ), spec.q_rows(), config_.width, w.q));
  if (!spec.borrows_from) {
    OCTAVO_TRY_VOID(matrix(name(tensor_names::kK), spec.k_width(), config_.width, w.k));
    if (!spec.v_is_k) OCTAVO_TRY_VOID(matrix(name(tensor_names::kV), spec.v_width(), config_.width, w.v));
  }
  return qkv_biases(layer, spec, w);
}

Result<void> WeightLister::latent(int layer, const AttentionSpec& spec, AttentionWeights& w) {
  const auto name = [layer](std::string_view suffix) { return tensor_names::of_layer(layer, suffix); };
  const LatentSpec& l = *spec.latent;
  if (l.q_rank > 0) {
    OCTAVO_TRY_VOID(matrix(name(tensor_names::kQDown), l.q_rank, config_.width, w.latent.q_down, false));
    OCTAVO_TRY_VOID(vector(name(tensor_names::kQDownNorm), l.q_rank, Presence::kRequired, w.latent.q_norm));
    OCTAVO_TRY_VOID(matrix(name(tensor_names::kQUp), spec.q_rows(), l.q_rank, w.q, false));
  } else {
    OCTAVO_TRY_VOID(matrix(name(tensor_names::kQ), spec.q_rows(), config_.width, w.q, false));
  }
  OCTAVO_TRY_VOID(matrix(name(tensor_names::kLatent), spec.k_width(), config_.width, w.k, false));
  OCTAVO_TRY_VOID(vector(name(tensor_names::kLatentNorm), l.rank, Presence::kRequired, w.latent.norm));
  w.latent.num_heads = spec.num_heads;
  if (l.is_joint) return joint_products(layer, spec, w);
  OCTAVO_TRY_VOID(of_heads(name(tensor_names::kLatentKeys), spec.num_heads, l.rank, l.plain_dim, w.latent.keys));
  return of_heads(name(tensor_names::kLatentValues), spec.num_heads, l.value_dim, l.rank, w.latent.values);
}

/// The rows that make keys are needed by columns. Blocks of quantized weights cannot be turned: they become halves,
/// which round them less than they are rounded already.
Result<void> WeightLister::joint_products(int layer, const AttentionSpec& spec, AttentionWeights& w) {
  const LatentSpec& l = *spec.latent;
  const std::int64_t rows_of_head = std::int64_t{l.plain_dim} + l.value_dim;
  const std::string name = tensor_names::of_layer(layer, tensor_names::kLatentKeysAndValues);
  OCTAVO_TRY(const SourceTensor* tensor, find(name, spec.num_heads * rows_of_head, l.rank, Presence::kRequired));
  if (tensor->tensor.type == DType::kNVFP4)
    return fail("{}: tensor {} holds the keys and values of heads in one, which is not supported in {}", source_.name(),
                name, dtype_info(tensor->tensor.type).name);
  w.latent.keys.index = add({.source = tensor,
                             .type = is_plain_float(tensor->tensor.type) ? tensor->tensor.type : DType::kF16,
                             .rows = l.rank,
                             .cols = l.plain_dim,
                             .count = spec.num_heads,
                             .row_step = rows_of_head,
                             .is_transposed = true});
  w.latent.values.index = add({.source = tensor,
                               .type = type_of(*tensor),
                               .rows = l.value_dim,
                               .cols = l.rank,
                               .count = spec.num_heads,
                               .first_row = l.plain_dim,
                               .row_step = rows_of_head});
  return {};
}

/// A layer that borrows takes Q alone.
Result<void> WeightLister::fused_qkv(int layer, const AttentionSpec& spec, AttentionWeights& w) {
  const std::string name = tensor_names::of_layer(layer, tensor_names::kQkv);
  OCTAVO_TRY(const SourceTensor* tensor,
             find(name, spec.q_rows() + spec.k_width() + spec.v_width(), config_.width, Presence::kRequired));
  std::int64_t first = 0;
  for (WeightIndex* part : {&w.q, &w.k, &w.v}) {
    const std::int64_t rows = part == &w.q ? spec.q_rows() : part == &w.k ? spec.k_width() : spec.v_width();
    *part =
        add({.source = tensor, .type = tensor->tensor.type, .rows = rows, .cols = config_.width, .first_row = first});
    OCTAVO_TRY_VOID(scale(name, 1, *part));
    if (spec.borrows_from) break;
    first += rows;
  }
  return qkv_biases(layer, spec, w);
}

/// One tensor may hold all three, whether or not one holds the weights.
Result<void> WeightLister::qkv_biases(int layer, const AttentionSpec& spec, AttentionWeights& w) {
  const std::string fused = tensor_names::of_layer(layer, tensor_names::kQkvBias);
  const bool is_fused = spec.qkv_bias != Presence::kAbsent && source_.find_tensor(fused) != nullptr;
  std::int64_t first = 0;
  for (const auto& [suffix, target] :
       {std::pair{tensor_names::kQBias, &w.q_bias}, std::pair{tensor_names::kKBias, &w.k_bias},
        std::pair{tensor_names::kVBias, &w.v_bias}}) {
    const std::int64_t size = target == &w.q_bias   ? spec.q_rows()
                              : target == &w.k_bias ? spec.k_width()
                                                    : spec.v_width();
    if (is_fused) {
      OCTAVO_TRY_VOID(vector(fused, spec.q_rows() + spec.k_width() + spec.v_width(), spec.qkv_bias, *target));
      list_.vectors.back().first = first;
      list_.vectors.back().size = size;
    } else {
      OCTAVO_TRY_VOID(vector(tensor_names::of_layer(layer, suffix), size, spec.qkv_bias, *target));
    }
    if (spec.borrows_from) break;
    first += size;
  }
  return {};
}

Result<void> WeightLister::list_mixer(int layer, const DeltaSpec& spec, LayerWeights& w) {
  const auto name = [layer](std::string_view suffix) { return tensor_names::of_layer(layer, suffix); };
  const int heads = spec.num_value_heads;
  const bool has_factors = !spec.by_key_head;  // llama.cpp's graph of qwen3next has none
  DeltaWeights& d = w.mixer.emplace<DeltaWeights>();
  OCTAVO_TRY_VOID(vector(name(tensor_names::kAttentionNorm), config_.width, Presence::kRequired, w.mixer_norm));
  OCTAVO_TRY_VOID(matrix(name(tensor_names::kQkv), spec.num_channels(), config_.width, d.qkv, has_factors));
  OCTAVO_TRY_VOID(matrix(name(tensor_names::kGateOfMixer), spec.value_width(), config_.width, d.gate, has_factors));
  const std::string_view decay = spec.by_key_head ? tensor_names::kBetaAndDecay : tensor_names::kDecay;
  OCTAVO_TRY_VOID(matrix(name(decay), spec.decay_rows(), config_.width, d.decay, has_factors));
  if (!spec.by_key_head) OCTAVO_TRY_VOID(matrix(name(tensor_names::kBeta), heads, config_.width, d.beta));
  OCTAVO_TRY_VOID(transposed(name(tensor_names::kConvolution), spec.num_channels(), spec.taps, d.taps));
  OCTAVO_TRY_VOID(vector(name(tensor_names::kDecayBias), heads, Presence::kRequired, d.decay_bias));
  OCTAVO_TRY_VOID(vector(name(tensor_names::kDecayScale), heads, Presence::kRequired, d.decay_scale));
  OCTAVO_TRY_VOID(vector(name(tensor_names::kDeltaNorm), spec.value_dim, Presence::kRequired, d.norm));
  return matrix(name(tensor_names::kDeltaOutput), config_.width, spec.value_width(), d.output, has_factors);
}

/// One tensor has the rows of the gate in front of the convolution, of the gate behind it, and of what goes through.
Result<void> WeightLister::list_mixer(int layer, const ShortConvSpec& spec, LayerWeights& w) {
  const auto name = [layer](std::string_view suffix) { return tensor_names::of_layer(layer, suffix); };
  ShortConvWeights& c = w.mixer.emplace<ShortConvWeights>();
  OCTAVO_TRY_VOID(vector(name(tensor_names::kAttentionNorm), config_.width, Presence::kRequired, w.mixer_norm));
  OCTAVO_TRY_VOID(parts(name(tensor_names::kShortConvInput),
                        {{spec.width, &c.in_gate}, {spec.width, &c.out_gate}, {spec.width, &c.value}}));
  OCTAVO_TRY_VOID(transposed(name(tensor_names::kShortConvTaps), spec.width, spec.taps, c.taps));
  return matrix(name(tensor_names::kShortConvOutput), config_.width, spec.width, c.output);
}

Result<void> WeightLister::list_mixer(int layer, const MambaSpec& spec, LayerWeights& w) {
  const std::string norm = tensor_names::of_layer(layer, tensor_names::kAttentionNorm);
  OCTAVO_TRY_VOID(vector(norm, config_.width, Presence::kRequired, w.mixer_norm));
  return list_mamba(layer, spec, w.mixer.emplace<MambaWeights>());
}

/// Numbers of heads are columns in files.
Result<void> WeightLister::list_mamba(int layer, const MambaSpec& spec, MambaWeights& m) {
  const auto name = [layer](std::string_view suffix) { return tensor_names::of_layer(layer, suffix); };
  OCTAVO_TRY_VOID(parts(name(tensor_names::kMambaInput),
                        {{spec.inner_width(), &m.gate}, {spec.num_channels(), &m.input}, {spec.num_heads, &m.step}}));
  OCTAVO_TRY_VOID(transposed(name(tensor_names::kConvolution), spec.num_channels(), spec.taps, m.taps));
  OCTAVO_TRY_VOID(vector(name(tensor_names::kConvolutionBias), spec.num_channels(), Presence::kOptional, m.taps_bias));
  OCTAVO_TRY_VOID(vector(name(tensor_names::kDecayBias), spec.num_heads, Presence::kRequired, m.step_bias));
  OCTAVO_TRY_VOID(vectors(name(tensor_names::kDecayScale), spec.num_heads, 1, Presence::kRequired, m.decay_rate));
  OCTAVO_TRY_VOID(vectors(name(tensor_names::kMambaSkip), spec.num_heads, 1, Presence::kRequired, m.skip));
  OCTAVO_TRY_VOID(vectors(name(tensor_names::kDeltaNorm), spec.num_groups, spec.norm_width(), spec.norm, m.norm));
  return matrix(name(tensor_names::kDeltaOutput), config_.width, spec.inner_width(), m.output);
}

Result<void> WeightLister::list_mixer(int /*layer*/, const NoPart& /*spec*/, LayerWeights& w) {
  w.mixer.emplace<NoTensors<ListedForm>>();
  return {};
}

Result<void> WeightLister::list_feed_forward(int /*layer*/, const NoPart& /*spec*/, LayerWeights& w) {
  w.feed_forward.emplace<NoTensors<ListedForm>>();
  return {};
}

Result<void> WeightLister::list_feed_forward(int layer, const DenseFfnSpec& spec, LayerWeights& w) {
  const auto name = [layer](std::string_view suffix) { return tensor_names::of_layer(layer, suffix); };
  DenseFfnWeights& f = w.feed_forward.emplace<DenseFfnWeights>();
  OCTAVO_TRY_VOID(matrix(name(tensor_names::kDown), config_.width, spec.width, f.down, spec.has_factors));
  if (!spec.is_gated) {
    OCTAVO_TRY_VOID(matrix(name(tensor_names::kUp), spec.width, config_.width, f.gate, spec.has_factors));
    OCTAVO_TRY_VOID(scaled_bias(name(tensor_names::kUpBias), f.gate, spec.biases, f.gate_bias));
    return scaled_bias(name(tensor_names::kDownBias), f.down, spec.biases, f.down_bias);
  }
  if (spec.gate_in_up) {
    OCTAVO_TRY_VOID(parts(name(tensor_names::kUp), {{spec.width, &f.gate}, {spec.width, &f.up}}, spec.has_factors));
  } else {
    OCTAVO_TRY_VOID(matrix(name(tensor_names::kGate), spec.width, config_.width, f.gate, spec.has_factors));
    OCTAVO_TRY_VOID(matrix(name(tensor_names::kUp), spec.width, config_.width, f.up, spec.has_factors));
  }
  OCTAVO_TRY_VOID(scaled_bias(name(tensor_names::kGateBias), f.gate, spec.biases, f.gate_bias));
  OCTAVO_TRY_VOID(scaled_bias(name(tensor_names::kUpBias), f.up, spec.biases, f.up_bias));
  return scaled_bias(name(tensor_names::kDownBias), f.down, spec.biases, f.down_bias);
}

Result<void> WeightLister::list_feed_forward(int layer, const ExpertsFfnSpec& spec, LayerWeights& w) {
  const auto name = [layer](std::string_view suffix) { return tensor_names::of_layer(layer, suffix); };
  ExpertsFfnWeights& f = w.feed_forward.emplace<ExpertsFfnWeights>();
  f.num_chosen = spec.num_chosen;
  OCTAVO_TRY_VOID(plain_matrix(name(tensor_names::kRouter), spec.num_experts, config_.width, f.router));
  OCTAVO_TRY_VOID(vector(name(tensor_names::kRouterBias), spec.num_experts, spec.biases, f.router_bias));
  const auto choice_bias = spec.router.choice_bias_is_bare ? tensor_names::kBareChoiceBias : tensor_names::kChoiceBias;
  OCTAVO_TRY_VOID(vector(name(choice_bias), spec.num_experts, spec.router.choice_bias, f.choice_bias));
  OCTAVO_TRY_VOID(gate_and_up(layer, spec, f));
  const int row_width = spec.row_width(config_.width);
  OCTAVO_TRY_VOID(experts(name(tensor_names::kDownOfExperts), spec, row_width, spec.width, f.down));
  if (spec.latent_width > 0) {
    OCTAVO_TRY_VOID(matrix(name(tensor_names::kLatentDown), row_width, config_.width, f.latent_down));
    OCTAVO_TRY_VOID(matrix(name(tensor_names::kLatentUp), config_.width, row_width, f.latent_up));
  }
  if (list_.matrix(f.down.index).type != DType::kNVFP4)  // there it is a factor of the weights
    OCTAVO_TRY_VOID(vector(name(tensor_names::kResultScales), spec.num_experts, spec.result_scales, f.result_scales));
  if (spec.own_norms) OCTAVO_TRY_VOID(list_own_norms(layer, f));
  return spec.shared_width == 0 ? Result<void>{} : list_shared(layer, spec, f);
}

Result<void> WeightLister::list_shared(int layer, const ExpertsFfnSpec& spec, ExpertsFfnWeights& w) {
  const auto name = [&](std::string_view own, std::string_view dense) {
    return tensor_names::of_layer(layer, spec.shared_is_dense ? dense : own);
  };
  if (spec.shared_is_gated)
    OCTAVO_TRY_VOID(
        matrix(tensor_names::of_layer(layer, tensor_names::kSharedExpertGate), 1, config_.width, w.shared_gate));
  const auto input = [&](const std::string& of, WeightIndex& target) {
    return matrix(of, spec.shared_width, config_.width, target, spec.has_factors);
  };
  if (spec.is_gated)
    OCTAVO_TRY_VOID(input(name(tensor_names::kGateOfSharedExpert, tensor_names::kGate), w.shared.gate));
  OCTAVO_TRY_VOID(
      input(name(tensor_names::kUpOfSharedExpert, tensor_names::kUp), spec.is_gated ? w.shared.up : w.shared.gate));
  return matrix(name(tensor_names::kDownOfSharedExpert, tensor_names::kDown), config_.width, spec.shared_width,
                w.shared.down, spec.has_factors);
}

Result<void> WeightLister::list_own_norms(int layer, ExpertsFfnWeights& w) {
  const auto norm = [&](std::string_view name, WeightIndex& target) {
    return vector(tensor_names::of_layer(layer, name), config_.width, Presence::kRequired, target);
  };
  OCTAVO_TRY_VOID(norm(tensor_names::kRouterNorm, w.router_norm));
  list_.vectors.back().factor = 1 / std::sqrt(static_cast<float>(config_.width));
  OCTAVO_TRY_VOID(norm(tensor_names::kExpertsNorm, w.experts_norm));
  OCTAVO_TRY_VOID(norm(tensor_names::kPostExpertsNorm, w.post_experts_norm));
  return norm(tensor_names::kPostSharedNorm, w.post_shared_norm);
}

Result<void> WeightLister::list_layer(int layer, LayerWeights& w) {
  const LayerSpec& spec = config_.layer(layer);
  OCTAVO_TRY_VOID(std::visit([&](const auto& mixer) { return list_mixer(layer, mixer, w); }, spec.mixer));
  if (spec.beside) OCTAVO_TRY_VOID(list_mamba(layer, *spec.beside, w.beside));
  const std::string_view norm = spec.ffn_norm_is_post_attention ? tensor_names::kPostAttentionNorm
                                : spec.ffn_norm_is_mixers       ? tensor_names::kAttentionNorm
                                : spec.ffn_norm_is_bare         ? tensor_names::kBareFfnNorm
                                                                : tensor_names::kFfnNorm;
  const auto required_if = [](bool is) { return is ? Presence::kRequired : Presence::kAbsent; };
  const bool has_ffn_norm = spec.has_feed_forward() && !spec.sum_norms && !spec.is_parallel;
  const Presence ffn_norm = has_ffn_norm ? spec.ffn_norm : Presence::kAbsent;
  OCTAVO_TRY_VOID(vector(tensor_names::of_layer(layer, norm), config_.width, ffn_norm, w.ffn_norm));
  if (is_present(w.ffn_norm))
    OCTAVO_TRY_VOID(vector(tensor_names::of_layer(layer, tensor_names::kFfnNormBias), config_.width, spec.norm_biases,
                           w.ffn_norm_bias));
  if (spec.sum_norms) OCTAVO_TRY_VOID(list_sum_norms(layer, w));
  OCTAVO_TRY_VOID(std::visit([&](const auto& ffn) { return list_feed_forward(layer, ffn, w); }, spec.feed_forward));
  OCTAVO_TRY_VOID(vector(tensor_names::of_layer(layer, tensor_names::kPostAttentionNorm), config_.width,
                         required_if(spec.has_mixer() && spec.post_norms), w.post_mixer_norm));
  OCTAVO_TRY_VOID(vector(tensor_names::of_layer(layer, tensor_names::kPostFfnNorm), config_.width,
                         required_if(spec.has_feed_forward() && spec.post_norms), w.post_ffn_norm));
  OCTAVO_TRY_VOID(vector(tensor_names::of_layer(layer, tensor_names::kOutputScale), 1, required_if(spec.output_scale),
                         w.output_scale));
  return config_.per_layer_width > 0 ? list_per_layer(layer, w.per_layer) : Result<void>{};
}

Result<void> WeightLister::list_sum_norms(int layer, LayerWeights& w) {
  const auto list = [&](std::string_view name, Presence presence, WeightIndex& target) {
    return vector(tensor_names::of_layer(layer, name), config_.width, presence, target);
  };
  OCTAVO_TRY_VOID(list(tensor_names::kMixerSumNorm, Presence::kRequired, w.mixer_sum_norm));
  OCTAVO_TRY_VOID(list(tensor_names::kMixerSumBias, Presence::kOptional, w.mixer_sum_bias));
  OCTAVO_TRY_VOID(list(tensor_names::kFfnSumNorm, Presence::kRequired, w.ffn_sum_norm));
  return list(tensor_names::kFfnSumBias, Presence::kOptional, w.ffn_sum_bias);
}

Result<void> WeightLister::list_per_layer(int layer, PerLayerWeights& w) {
  const auto name = [layer](std::string_view suffix) { return tensor_names::of_layer(layer, suffix); };
  OCTAVO_TRY_VOID(matrix(name(tensor_names::kPerLayerGate), config_.per_layer_width, config_.width, w.gate));
  OCTAVO_TRY_VOID(matrix(name(tensor_names::kPerLayerUp), config_.width, config_.per_layer_width, w.up));
  return vector(name(tensor_names::kPerLayerPostNorm), config_.width, Presence::kRequired, w.post_norm);
}

Result<void> WeightLister::list_per_layer_tables() {
  if (config_.per_layer_width == 0) return {};
  PerLayerTableTensors<ListedForm>& w = list_.tensors.per_layer;
  const std::int64_t inputs = std::int64_t{config_.num_layers()} * config_.per_layer_width;
  OCTAVO_TRY_VOID(matrix(std::string(tensor_names::kPerLayerTable), config_.vocab_size, inputs, w.table));
  OCTAVO_TRY_VOID(matrix(std::string(tensor_names::kPerLayerProjection), inputs, config_.width, w.projection));
  return vector(std::string(tensor_names::kPerLayerNorm), config_.per_layer_width, Presence::kRequired, w.norm);
}

/// Embedding, output and norm are the model's where the file has none of the head's own.
Result<void> WeightLister::list_draft_head(DraftHeadTensors<ListedForm>& w) {
  const int layer = config_.num_layers();
  const auto name = [layer](std::string_view suffix) { return tensor_names::of_layer(layer, suffix); };
  const auto own_or = [&](std::string_view suffix, WeightIndex of_model, WeightIndex& target) -> Result<void> {
    target = of_model;
    if (source_.find_tensor(name(suffix)) == nullptr) return {};
    return matrix(name(suffix), config_.vocab_size, config_.width, target);
  };
  OCTAVO_TRY_VOID(
      matrix(name(tensor_names::kHeadProjection), config_.width, 2 * std::int64_t{config_.width}, w.projection));
  OCTAVO_TRY_VOID(vector(name(tensor_names::kHeadEmbeddingNorm), config_.width, Presence::kRequired, w.embedding_norm));
  OCTAVO_TRY_VOID(vector(name(tensor_names::kHeadHiddenNorm), config_.width, Presence::kRequired, w.hidden_norm));
  OCTAVO_TRY_VOID(own_or(tensor_names::kHeadEmbedding, list_.tensors.embedding, w.embedding));
  OCTAVO_TRY_VOID(own_or(tensor_names::kHeadOutput, list_.tensors.output, w.output));
  w.output_norm = list_.tensors.output_norm;
  return vector(name(tensor_names::kHeadOutputNorm), config_.width, Presence::kOptional, w.output_norm);
}

Result<void> WeightLister::list_assistant(AssistantTensors<ListedForm>& w) {
  const std::int64_t pair = 2 * std::int64_t{config_.model_width};
  OCTAVO_TRY_VOID(plain_matrix(std::string(tensor_names::kPreProjection), config_.width, pair, w.pre_projection));
  return plain_matrix(std::string(tensor_names::kPostProjection), config_.model_width, config_.width,
                      w.post_projection);
}

/// One tensor for all layers whose positions it changes.
/// As many as the widest rotation has pairs; a layer takes the first of them.
Result<void> WeightLister::list_rope_factors() {
  int most = 0;
  for (const LayerSpec& layer : config_.layers)
    if (layer.attention() != nullptr) most = std::max(most, layer.attention()->rope.num_rotated);
  for (const LayerSpec& layer : config_.layers) {
    const AttentionSpec* attention = layer.attention();
    if (attention == nullptr || attention->rope.factors == Presence::kAbsent) continue;
    const RopeFactors list = attention->rope.list;
    const std::string_view name = list == RopeFactors::kOfShortContexts  ? tensor_names::kShortRopeFactors
                                  : list == RopeFactors::kOfLongContexts ? tensor_names::kLongRopeFactors
                                                                         : tensor_names::kRopeFactors;
    return vector(std::string(name), most / 2, attention->rope.factors, list_.tensors.rope_factors);
  }
  return {};
}

/// Lists the embeddings of tokens, of positions and of the parts of a pair, and the norm of their sum.
Result<void> WeightLister::list_embeddings() {
  ModelTensors<ListedForm>& w = list_.tensors;
  OCTAVO_TRY_VOID(matrix(std::string(tensor_names::kEmbedding), config_.vocab_size, config_.width, w.embedding));
  if (config_.num_positions > 0)
    OCTAVO_TRY_VOID(matrix(std::string(tensor_names::kPositions), config_.num_positions, config_.width, w.positions));
  if (config_.num_token_types > 0)
    OCTAVO_TRY_VOID(
        matrix(std::string(tensor_names::kTokenTypes), config_.num_token_types, config_.width, w.token_types));
  if (config_.embedding_norm == Presence::kAbsent) return {};
  OCTAVO_TRY_VOID(
      vector(std::string(tensor_names::kEmbeddingNorm), config_.width, config_.embedding_norm, w.embedding_norm));
  return vector(std::string(tensor_names::kEmbeddingNormBias), config_.width, Presence::kOptional,
                w.embedding_norm_bias);
}

Result<void> WeightLister::head_matrix(std::string_view name, std::int64_t rows, std::int64_t cols,
                                       WeightIndex& target) {
  return source_.find_tensor(name) == nullptr ? Result<void>{} : matrix(std::string(name), rows, cols, target);
}

/// Vectors: one matrix, or one in front of it, of any width between. Scores: one matrix, or one in front of it.
Result<void> WeightLister::list_head() {
  HeadTensors<ListedForm>& w = list_.tensors.head;
  const SourceTensor* const up = source_.find_tensor(tensor_names::kVectorUp);
  const std::int64_t between = up == nullptr ? config_.width : up->tensor.rows;
  OCTAVO_TRY_VOID(head_matrix(tensor_names::kVectorUp, between, config_.width, w.vector_up));
  if (up != nullptr || source_.find_tensor(tensor_names::kVector) != nullptr)
    OCTAVO_TRY_VOID(matrix(std::string(tensor_names::kVector), config_.head.width, between, w.vector));
  if (config_.head.num_scores == 0) return {};
  OCTAVO_TRY_VOID(head_matrix(tensor_names::kHeadDense, config_.width, config_.width, w.dense));
  OCTAVO_TRY_VOID(vector(std::string(tensor_names::kHeadDenseBias), config_.width, Presence::kOptional, w.dense_bias));
  OCTAVO_TRY_VOID(vector(std::string(tensor_names::kHeadNorm), config_.width, Presence::kOptional, w.norm));
  OCTAVO_TRY_VOID(matrix(std::string(tensor_names::kScores), config_.head.num_scores, config_.width, w.scores));
  return vector(std::string(tensor_names::kScoresBias), config_.head.num_scores, Presence::kOptional, w.scores_bias);
}

Result<void> WeightLister::list() {
  ModelTensors<ListedForm>& w = list_.tensors;
  const std::string output(tensor_names::kOutput);
  OCTAVO_TRY_VOID(list_embeddings());
  const std::string_view output_norm =
      config_.output_norm_is_embedding_norm ? tensor_names::kEmbeddingNorm : tensor_names::kOutputNorm;
  OCTAVO_TRY_VOID(vector(std::string(output_norm), config_.width, config_.output_norm, w.output_norm));
  OCTAVO_TRY_VOID(
      vector(std::string(tensor_names::kOutputNormBias), config_.width, config_.output_norm_bias, w.output_norm_bias));
  OCTAVO_TRY_VOID(list_head());
  if (config_.is_encoder) {
    // Nothing is drawn.
  } else if (config_.tied_output) {
    w.output = w.embedding;
  } else {
    OCTAVO_TRY_VOID(matrix(output, config_.vocab_size, config_.width, w.output));
  }
  OCTAVO_TRY_VOID(
      vector(std::string(tensor_names::kOutputBias), config_.vocab_size, config_.logit_bias, w.output_bias));
  OCTAVO_TRY_VOID(list_rope_factors());
  OCTAVO_TRY_VOID(list_per_layer_tables());
  w.layers.resize(config_.layers.size());
  for (std::size_t i = 0; i < w.layers.size(); ++i) {
    const LayerSpec& spec = config_.layers[i];
    if (spec.repeats) w.layers[i] = w.layers[to_size(*spec.repeats)];
    if (!spec.repeats) OCTAVO_TRY_VOID(list_layer(static_cast<int>(i), w.layers[i]));
    if (spec.repeats || spec.ends_pass) w.layers[i].ffn_sum_norm = spec.ends_pass ? w.output_norm : WeightIndex();
  }
  if (config_.has_draft_head) OCTAVO_TRY_VOID(list_draft_head(w.draft_head));
  if (config_.is_assistant()) OCTAVO_TRY_VOID(list_assistant(w.assistant));
  return check_all_used();
}

}  // namespace

Result<WeightList> WeightList::create(const ModelSource& source, const ModelConfig& config, const MatrixTypes& types) {
  WeightList list;
  list.types = types;
  OCTAVO_TRY_VOID(WeightLister(source, config, types, list).list());
  return list;
}

}  // namespace octavo
