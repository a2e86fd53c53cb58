#include "model/architectures/experts_keys.h"

namespace octavo {
namespace {

constexpr std::uint64_t kSoftmax = 1;  // of expert_gating_func

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

Result<ExpertsFfnSpec> read_experts(const ModelKeys& keys, int width) {
  ExpertsFfnSpec experts{.width = width};
  OCTAVO_TRY(experts.num_experts, keys.size("expert_count", kMostExperts));
  OCTAVO_TRY(experts.num_chosen, keys.size("expert_used_count", kMostChosenExperts));
  if (experts.num_chosen > experts.num_experts)
    return fail("{}: {} is {}, but {} is {}", keys.path(), keys.key("expert_used_count"), experts.num_chosen,
                keys.key("expert_count"), experts.num_experts);
  if (keys.has("expert_weights_scale")) {
    OCTAVO_TRY(const double scale, keys.not_negative("expert_weights_scale"));
    if (scale > 0) experts.weights_scale = static_cast<float>(scale);  // 0 is none, as llama.cpp writes it
  }
  OCTAVO_TRY_VOID(refuse_other_mixtures(keys));
  return experts;
}

}  // namespace octavo
