#include "gpu/placement.h"

#include <algorithm>

#include "base/to_size.h"
#include "gpu/card_attention.h"
#include "gpu/card_delta.h"
#include "gpu/card_dense_ffn.h"
#include "gpu/card_experts.h"
#include "gpu/kernels/act_pair.h"
#include "gpu/kernels/delta_arguments.h"
#include "gpu/kernels/limits.h"
#include "gpu/product_launch.h"
#include "model/largest.h"
#include "model/model_runner.h"
#include "model/visit_matrices.h"
#include "tensor/dtype.h"

namespace octavo::gpu {
namespace {

/// Bytes that do not depend on the number of layers.
std::uint64_t scratch_bytes(const PlacementRequest& request, bool output) {
  const ModelConfig& config = request.config;
  const std::uint64_t floats = to_size(request.max_rows) * 2 * to_size(config.width) +
                               (output ? to_size(kMaxLogitRows) * to_size(config.vocab_size) : 0);
  return CardAttention::scratch_bytes(config, request.max_rows) + CardDelta::scratch_bytes(config, request.max_rows) +
         CardDenseFfn::scratch_bytes(config, request.max_rows) + CardExperts::scratch_bytes(config, request.max_rows) +
         act_bytes(request.max_rows, widest_columns(config)) + floats * sizeof(float) + request.weights.vector_bytes;
}

std::string reason_against(const MatrixShape& matrix) {
  if (!has_product(matrix.type))
    return fmt::format("tensor {} has type {}, for which the card has no kernel", matrix.name,
                       dtype_info(matrix.type).name);
  if (matrix.has_factor) return fmt::format("tensor {} has a factor beside it", matrix.name);
  return {};
}

/// Whether the card's router computes this.
bool card_chooses_by(const RouterSpec& router) {
  return router.gate == RouterSpec::Gate::kSoftmax && router.choice_bias == Presence::kAbsent && router.num_groups == 1;
}

std::string reason_against(const LayerSpec& spec) {
  const AttentionSpec* attention = spec.attention();
  const DeltaSpec* delta = spec.delta();
  if (delta != nullptr && std::max(delta_rule_shared(delta->key_dim),
                                   convolve_heads_shared(delta->key_dim, delta->value_dim)) > kMaxSharedBytes)
    return "its recurrence has heads that are too wide";
  if (delta != nullptr && delta->by_key_head) return "its value heads lie by key head";
  if (spec.short_conv() != nullptr) return "it is a short convolution";
  if (spec.mamba() != nullptr) return "its recurrence is Mamba-2";
  if (attention != nullptr && attention->latent) return "its heads share a latent";
  if (attention != nullptr && attention->v_dim() != attention->head_dim)
    return "its values are not as wide as its keys";
  if ((attention != nullptr && !attention->is_causal) || spec.sum_norms) return "it is an encoder's";
  if (spec.is_parallel) return "its feed-forward reads what its attention reads";
  if (spec.mixer_norm == Presence::kAbsent || spec.ffn_norm == Presence::kAbsent)
    return "it has no norms in front of its parts";
  if (spec.norm_biases != Presence::kAbsent) return "its norms have biases";
  const auto* dense = std::get_if<DenseFfnSpec>(&spec.feed_forward);
  if (dense != nullptr && dense->activation == Activation::kXielu) return "its feed-forward's function is xIELU";
  const auto* experts = std::get_if<ExpertsFfnSpec>(&spec.feed_forward);
  if (experts != nullptr && !card_chooses_by(experts->router)) return "its router chooses by more than a softmax";
  if (experts != nullptr && experts->sum_scale != 1) return "the sum of its experts' results is scaled";
  if ((dense != nullptr && dense->limit > 0) || (experts != nullptr && experts->limit + experts->shared_limit > 0))
    return "its feed-forward has limits";
  if (experts != nullptr && experts->weighs_inputs) return "what its experts read is weighted";
  if (experts != nullptr && experts->latent_width > 0) return "its experts work on narrower rows";
  if (attention != nullptr && attention->output_gate) return "its attention has a gate with a matrix of its own";
  if (attention != nullptr && attention->qk_norm_is_whole) return "it norms all heads of Q and K at once";
  if (attention != nullptr && attention->qk_norm_by_head) return "its heads of Q and K have norms of their own";
  if (attention != nullptr && attention->qk_norm_after_rope) return "it norms Q and K behind their rotation";
  if (attention != nullptr && attention->qk_norm_is_plain) return "its norms of Q and K have no weights";
  if (attention != nullptr && attention->is_chunked) return "its attention sees chunks";
  return {};
}

/// Why the card cannot compute a layer: a clause that names what is missing. Empty: it can.
std::string reason_against(const LayerSpec& spec, const LayerShape& layer) {
  if (is_present(layer.per_layer.gate)) return "it reads embeddings of its own";
  std::string reason = reason_against(spec);
  visit_matrices(layer, [&](const MatrixShape& matrix, bool) {
    if (reason.empty()) reason = reason_against(matrix);
  });
  return reason;
}

/// Why the card can compute no layer of the model; empty: nothing is against it.
std::string reason_against(const PlacementRequest& request) {
  if (request.room.layout.is_contiguous())
    return "its keys and values are to lie in one piece (--kv-layout contiguous)";
  if (request.room.layout.type != KvType::kI16 && request.room.layout.type != KvType::kF16)
    return "the card has kernels for --kv-type i16 and f16 alone";
  if (request.config.norm != NormKind::kRms) return "its norms are LayerNorm";
  if (request.config.epsilon_of_results() != request.config.norm_epsilon)
    return "its norms of results have an epsilon of their own";
  if (request.config.residual_scale != 1) return "what its layers add to the stream is scaled";
  if (request.config.per_layer_width > 0) return "its layers read embeddings of their own";
  if (request.config.joint_rows > 0) return "the rows of a picture see each other";
  if (std::ranges::any_of(request.config.layers, [](const LayerSpec& layer) { return layer.repeats.has_value(); }))
    return "its layers run several times";
  return reason_against(request.config.layer(0), request.weights.tensors.layers.front());
}

/// Whether a layer behind the first `count` reads the keys and values of one of these, which must be of one stage.
bool lends_behind(const ModelConfig& config, int count) {
  return std::ranges::any_of(config.own_layers().subspan(to_size(count)), [&](const LayerSpec& layer) {
    const std::optional<KvLayerShape> shape = layer.kv_shape();
    return shape && shape->borrows_from && *shape->borrows_from < count;
  });
}

std::string reason_against_output(const PlacementRequest& request) {
  if (request.config.output_norm_bias != Presence::kAbsent) return "its last norm has a bias";
  if (request.config.logit_scale != 1) return "its logits have a scale";
  if (!is_present(request.weights.tensors.output)) return "there is no output matrix";
  return reason_against(request.weights.tensors.output);
}

}  // namespace

std::int64_t widest_columns(const ModelConfig& config) {
  std::int64_t most = config.width;
  for (const LayerSpec& layer : config.own_layers()) most = std::max<std::int64_t>(most, layer.result_width());
  return std::max<std::int64_t>(most, widest_dense(config.own_layers()));
}

std::uint64_t room_on(const CudaDevice& device) {
  constexpr std::uint64_t kReserve = std::uint64_t{256} << 20;
  const std::uint64_t free = device.free_bytes();
  return free - std::min(free, kReserve);
}

Placement place_layers(const PlacementRequest& request, std::uint64_t room) {
  Placement placed{.reason = reason_against(request)};
  const int wanted = request.gpu_layers, all = request.config.num_layers();
  if (wanted == 0 || !placed.reason.empty()) return placed;
  placed.bytes = scratch_bytes(request, false);
  std::uint64_t all_bytes = placed.bytes, weight_bytes = request.weights.vector_bytes;
  const auto fits = [&](std::uint64_t bytes) {
    if (all_bytes + bytes <= room) return true;
    placed.reason = "its memory is full then";
    return false;
  };
  for (int i = 0; i < all && (wanted < 0 || i < wanted); ++i) {
    const LayerShape& weights = request.weights.tensors.layers[to_size(i)];
    placed.reason = reason_against(request.config.layer(i), weights);
    const std::uint64_t bytes = matrix_bytes(weights),
                        with_state = bytes + CardAttention::kv_bytes(request.room, i) +
                                     CardDelta::state_bytes(request.config, request.room, i);
    if (!placed.reason.empty() || !fits(with_state)) break;
    weight_bytes += bytes;
    all_bytes += with_state;
    if (lends_behind(request.config, i + 1)) continue;  // not without those
    placed.num_layers = i + 1;
    placed.weight_bytes = weight_bytes;
    placed.bytes = all_bytes;
  }
  if (placed.num_layers == 0 && placed.reason.empty()) placed.reason = "more layers read their keys and values";
  if (placed.num_layers < all || (wanted >= 0 && wanted <= all)) return placed;
  placed.reason = reason_against_output(request);
  const std::uint64_t output = request.weights.tensors.output.bytes(),
                      with_rows = output + scratch_bytes(request, true) - scratch_bytes(request, false);
  if (!placed.reason.empty() || !fits(with_rows)) return placed;
  placed.output = true;
  placed.weight_bytes += output;
  placed.bytes += with_rows;
  return placed;
}

}  // namespace octavo::gpu
