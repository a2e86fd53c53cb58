// How a file describes a mixture of experts.
#pragma once

#include <cstdint>
#include <functional>

#include "model/architectures/model_keys.h"

namespace octavo {

/// No model has as many experts in a layer, nor sends a row to so many.
inline constexpr int kMostExperts = 4096, kMostChosenExperts = 64;

/// Files without experts may say that there are none.
Result<bool> has_experts(const ModelKeys& keys);

/// The mixture of a layer whose experts have `width` units, of a family with a plain router. Keys that would change
/// what it computes are refused.
Result<ExpertsFfnSpec> read_experts(const ModelKeys& keys, int width);

/// Whether the weights of a row's experts are divided by their sum in all files of a family, or where a key says so.
enum class SumsToOne : std::uint8_t { kAlways, kByKey };

/// The mixture of a layer of a family whose files say more of the router, which is `family` otherwise. Errors: a gate
/// that is not known; groups that do not fit the experts.
Result<ExpertsFfnSpec> read_routed_experts(const ModelKeys& keys, int width, const RouterSpec& family,
                                           SumsToOne sums_to_one);

/// The mixture of a layer whose rows meet `num_chosen` experts, in files that give each layer a number of its own.
Result<ExpertsFfnSpec> read_routed_experts(const ModelKeys& keys, int width, int num_chosen, const RouterSpec& family,
                                           SumsToOne sums_to_one);

/// The expert for every row, without a gate: of its own width, or of so many experts' together. None: the file names
/// neither.
Result<void> read_shared_expert(const ModelKeys& keys, ExpertsFfnSpec& experts);
/// The mixture and its expert for every row, of a family whose experts have the width that expert_feed_forward_length
/// gives.
Result<ExpertsFfnSpec> read_experts_and_shared(const ModelKeys& keys, const RouterSpec& family, SumsToOne sums_to_one);

/// The layers of a mixture that have a dense feed-forward in its place.
Result<void> make_dense(const ModelKeys& keys, const std::function<bool(int layer)>& is_dense, ModelConfig& config);
/// The first layers that the file says so of have a dense feed-forward in place of a mixture.
Result<void> read_leading_dense_layers(const ModelKeys& keys, ModelConfig& config);
/// Layers like `layer` with such a mixture, behind the leading dense ones; without factors of feed-forwards.
Result<void> read_mixture_layers(const ModelKeys& keys, LayerSpec layer, const RouterSpec& family, ModelConfig& config);

}  // namespace octavo
