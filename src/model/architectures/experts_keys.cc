#include "model/architectures/experts_keys.h"

#include "base/to_size.h"

namespace octavo {
namespace {

constexpr std::uint64_t kSoftmax = 1, kSigmoid = 2;  // of expert_gating_func

/// Other gates, groups of experts, experts for all rows and layers without a mixture.
Result<void> refuse_other_mixtures(const ModelKeys& keys) {
  struct Count {
    std::string_view suffix;
    std::uint64_t neutral;
  };
  constexpr Count kCounts[] = {{"expert_gating_func", kSoftmax},
                               {"expert_group_count", 1},
                               {"expert_shared_count", 0},
                               {"leading_dense_block_count", 0}};
  for (const auto& [suffix, neutral] : kCounts) {
    if (!keys.has(suffix)) continue;
    OCTAVO_TRY(const std::uint64_t value, keys.source().get_u64(keys.key(suffix)));
    if (value != neutral && value != 0)
      return fail("{}: {} is {}, expected {}: this is not supported", keys.path(), keys.key(suffix), value, neutral);
  }
  if (!keys.has("expert_weights_norm")) return {};
  OCTAVO_TRY(const bool is_normed, keys.source().get_bool(keys.key("expert_weights_norm")));
  if (!is_normed)
    return fail("{}: {} is false, expected true: this is not supported", keys.path(), keys.key("expert_weights_norm"));
  return {};
}

}  // namespace

Result<bool> has_experts(const ModelKeys& keys) {
  if (!keys.has("expert_count")) return false;
  OCTAVO_TRY(const std::uint64_t count, keys.source().get_u64(keys.key("expert_count")));
  return count != 0;
}

namespace {

/// The experts, of which a row meets `num_chosen`.
Result<ExpertsFfnSpec> read_counts(const ModelKeys& keys, int width, int num_chosen) {
  ExpertsFfnSpec experts{.num_chosen = num_chosen, .width = width};
  OCTAVO_TRY(experts.num_experts, keys.size("expert_count", kMostExperts));
  if (num_chosen > kMostChosenExperts)
    return fail("{}: {} is {}, expected 1 to {}", keys.path(), keys.key("expert_used_count"), num_chosen,
                kMostChosenExperts);
  if (experts.num_chosen > experts.num_experts)
    return fail("{}: {} is {}, but {} is {}", keys.path(), keys.key("expert_used_count"), experts.num_chosen,
                keys.key("expert_count"), experts.num_experts);
  if (keys.has("expert_weights_scale")) {
    OCTAVO_TRY(const double scale, keys.not_negative("expert_weights_scale"));
    if (scale > 0) experts.router.weights_scale = static_cast<float>(scale);  // 0 is none, as llama.cpp writes it
  }
  return experts;
}

Result<RouterSpec::Gate> read_gate(const ModelKeys& keys, RouterSpec::Gate otherwise) {
  constexpr std::string_view kGate = "expert_gating_func";
  if (!keys.has(kGate)) return otherwise;
  OCTAVO_TRY(const std::uint64_t gate, keys.source().get_u64(keys.key(kGate)));
  switch (gate) {
    case 0: return otherwise;
    case kSoftmax: return RouterSpec::Gate::kSoftmax;
    case kSigmoid: return RouterSpec::Gate::kSigmoid;
    default:
      return fail("{}: {} is {}, expected {} (softmax) or {} (sigmoid): this is not supported", keys.path(),
                  keys.key(kGate), gate, kSoftmax, kSigmoid);
  }
}

Result<void> read_groups(const ModelKeys& keys, const ExpertsFfnSpec& experts, RouterSpec& router) {
  constexpr std::string_view kGroups = "expert_group_count", kChosen = "expert_group_used_count";
  OCTAVO_TRY(const int groups, keys.has(kGroups) ? keys.count(kGroups, kMostExpertGroups) : Result<int>(0));
  OCTAVO_TRY(const int chosen, keys.has(kChosen) ? keys.count(kChosen, kMostExpertGroups) : Result<int>(0));
  if (groups <= 1) return {};
  router.num_groups = groups;
  router.num_groups_chosen = chosen;
  if (experts.num_experts % groups == 0 && chosen >= 1 && chosen <= groups &&
      chosen * (experts.num_experts / groups) >= experts.num_chosen)
    return {};
  return fail(
      "{}: {} is {} and {} is {}, expected groups of equal sizes of {} experts, of which those chosen have the {} "
      "that a row meets",
      keys.path(), keys.key(kGroups), groups, keys.key(kChosen), chosen, experts.num_experts, experts.num_chosen);
}

}  // namespace

Result<ExpertsFfnSpec> read_experts(const ModelKeys& keys, int width) {
  OCTAVO_TRY(const int chosen, keys.size("expert_used_count", kMostChosenExperts));
  OCTAVO_TRY(const ExpertsFfnSpec experts, read_counts(keys, width, chosen));
  OCTAVO_TRY_VOID(refuse_other_mixtures(keys));
  return experts;
}

Result<ExpertsFfnSpec> read_routed_experts(const ModelKeys& keys, int width, const RouterSpec& family,
                                           SumsToOne sums_to_one) {
  OCTAVO_TRY(const int chosen, keys.size("expert_used_count", kMostChosenExperts));
  return read_routed_experts(keys, width, chosen, family, sums_to_one);
}

Result<ExpertsFfnSpec> read_routed_experts(const ModelKeys& keys, int width, int num_chosen, const RouterSpec& family,
                                           SumsToOne sums_to_one) {
  OCTAVO_TRY(ExpertsFfnSpec experts, read_counts(keys, width, num_chosen));
  RouterSpec router = family;
  router.weights_scale = experts.router.weights_scale;
  OCTAVO_TRY(router.gate, read_gate(keys, family.gate));
  constexpr std::string_view kNormed = "expert_weights_norm";
  router.sums_to_one = sums_to_one == SumsToOne::kAlways;
  if (keys.has(kNormed)) {
    OCTAVO_TRY(const bool is_normed, keys.source().get_bool(keys.key(kNormed)));
    router.sums_to_one = router.sums_to_one || is_normed;
  }
  OCTAVO_TRY_VOID(read_groups(keys, experts, router));
  experts.router = router;
  return experts;
}

Result<void> read_shared_expert(const ModelKeys& keys, ExpertsFfnSpec& experts) {
  constexpr std::string_view kWidth = "expert_shared_feed_forward_length", kCount = "expert_shared_count";
  experts.shared_is_gated = false;
  OCTAVO_TRY(const int count, keys.has(kCount) ? keys.count(kCount, kMostExperts) : Result<int>(0));
  if (keys.has(kWidth)) {
    OCTAVO_TRY(experts.shared_width, keys.count(kWidth));
    if (experts.shared_width > 0) return {};  // 0 is none, as llama.cpp writes it
  }
  if (count > kMaxModelSize / experts.width)
    return fail("{}: {} is {}, with a width of {} more than {} units", keys.path(), keys.key(kCount), count,
                experts.width, kMaxModelSize);
  experts.shared_width = count * experts.width;
  return {};
}

Result<ExpertsFfnSpec> read_experts_and_shared(const ModelKeys& keys, const RouterSpec& family, SumsToOne sums_to_one) {
  OCTAVO_TRY(const int width, keys.size("expert_feed_forward_length"));
  OCTAVO_TRY(ExpertsFfnSpec experts, read_routed_experts(keys, width, family, sums_to_one));
  OCTAVO_TRY_VOID(read_shared_expert(keys, experts));
  return experts;
}

Result<void> read_leading_dense_layers(const ModelKeys& keys, ModelConfig& config) {
  constexpr std::string_view kLeading = "leading_dense_block_count";
  OCTAVO_TRY(const int count, keys.has(kLeading) ? keys.count(kLeading, config.num_layers()) : Result<int>(0));
  return make_dense(keys, [count](int layer) { return layer < count; }, config);
}

Result<void> read_mixture_layers(const ModelKeys& keys, LayerSpec layer, const RouterSpec& family,
                                 ModelConfig& config) {
  OCTAVO_TRY(layer.feed_forward, read_experts_and_shared(keys, family, SumsToOne::kByKey));
  OCTAVO_TRY_VOID(read_equal_layers(keys, layer, config));
  OCTAVO_TRY_VOID(read_leading_dense_layers(keys, config));
  take_no_factors_of_feed_forwards(config);
  return {};
}

Result<void> make_dense(const ModelKeys& keys, const std::function<bool(int layer)>& is_dense, ModelConfig& config) {
  for (int i = 0; i < config.num_layers(); ++i) {
    if (!is_dense(i)) continue;
    OCTAVO_TRY(const int width, keys.size("feed_forward_length"));
    config.layers[to_size(i)].feed_forward = DenseFfnSpec{.width = width};
  }
  return {};
}

}  // namespace octavo
