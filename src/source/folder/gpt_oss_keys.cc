// gpt-oss.
#include "source/folder/config_keys.h"
#include "source/folder/family_keys.h"

namespace octavo {
namespace {

constexpr std::uint64_t kGlobalLayerEvery = 2;
constexpr double kSwigluLimit = 7;

}  // namespace

Result<void> add_gpt_oss_keys(const FamilyKeys& keys) {
  OCTAVO_TRY_VOID(add_dense_keys(keys));
  OCTAVO_TRY_VOID(add_context(keys));
  OCTAVO_TRY_VOID(add_window(keys));
  OCTAVO_TRY_VOID(check_kinds_of_layers(keys, kGlobalLayerEvery));
  OCTAVO_TRY_VOID(require_flag(keys, "attention_bias", true));
  OCTAVO_TRY(const auto limit, keys.config.number_if("swiglu_limit"));
  if (limit.value_or(kSwigluLimit) != kSwigluLimit)
    return fail("{} is {}, expected {}", keys.config.place("swiglu_limit"), *limit, kSwigluLimit);
  OCTAVO_TRY(const auto rope, rope_object(keys.config));
  if (rope) {
    OCTAVO_TRY(const bool truncates, rope->flag_or("truncate", false));
    if (truncates) return fail("{} is true: this is not supported", rope->place("truncate"));
  }
  return add_mixture_keys(keys, {"num_local_experts", "num_experts_per_tok", "intermediate_size"});
}

}  // namespace octavo
