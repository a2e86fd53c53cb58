#include "model/architectures/recurrence_keys.h"

#include <algorithm>
#include <tuple>

namespace octavo {

Result<void> check_state_dim(const ModelKeys& keys, std::string_view suffix, int dim) {
  if (dim <= kMaxStateDim) return {};
  return fail("{}: {} makes heads of {} dimensions, expected at most {}", keys.path(), keys.key(suffix), dim,
              kMaxStateDim);
}

Result<int> read_taps(const ModelKeys& keys, std::string_view suffix) {
  OCTAVO_TRY(const int taps, keys.size(suffix));
  if (taps >= 2 && taps <= kMaxConvolutionTaps) return taps;
  return fail("{}: {} is {}, expected 2 to {}", keys.path(), keys.key(suffix), taps, kMaxConvolutionTaps);
}

/// Files call the number of heads time_step_rank, after what Mamba had in their place.
Result<MambaSpec> read_mamba(const ModelKeys& keys) {
  constexpr std::string_view kHeads = "ssm.time_step_rank", kGroups = "ssm.group_count", kInner = "ssm.inner_size",
                             kState = "ssm.state_size";
  MambaSpec mamba;
  OCTAVO_TRY(mamba.num_heads, keys.size(kHeads));
  OCTAVO_TRY(mamba.num_groups, keys.size(kGroups));
  OCTAVO_TRY(mamba.state_dim, keys.size(kState));
  OCTAVO_TRY_VOID(check_state_dim(keys, kState, mamba.state_dim));
  OCTAVO_TRY(const int inner, keys.size(kInner));
  for (const auto& [name, value, divisor, divided_by] : {std::tuple(kHeads, mamba.num_heads, kGroups, mamba.num_groups),
                                                         std::tuple(kInner, inner, kHeads, mamba.num_heads)})
    if (value % divided_by != 0)
      return fail("{}: {} is {}, not a multiple of {}, which is {}", keys.path(), keys.key(name), value,
                  keys.key(divisor), divided_by);
  mamba.head_dim = inner / mamba.num_heads;
  OCTAVO_TRY_VOID(check_state_dim(keys, kInner, mamba.head_dim));
  if (std::int64_t{2} * mamba.num_groups * mamba.state_dim + inner > kMaxModelSize)
    return fail("{}: {} is {} and {} is {}: with {} they make more than {} channels", keys.path(), keys.key(kGroups),
                mamba.num_groups, keys.key(kState), mamba.state_dim, keys.key(kInner), kMaxModelSize);
  OCTAVO_TRY(mamba.taps, read_taps(keys, "ssm.conv_kernel"));
  return mamba;
}

Result<void> expect_attention(const ModelKeys& keys, const std::vector<int>& kv_heads) {
  if (std::ranges::any_of(kv_heads, [](int count) { return count > 0; })) return {};
  return fail("{}: {} is 0 for all {} layers, expected one that attends at least", keys.path(),
              keys.key("attention.head_count_kv"), kv_heads.size());
}

Result<void> expect_heads(const ModelKeys& keys, int num_heads, int num_kv_heads) {
  if (num_heads > 0) return {};
  return fail("{}: {} is 0 for a layer with {} KV heads", keys.path(), keys.key("attention.head_count"), num_kv_heads);
}

}  // namespace octavo
