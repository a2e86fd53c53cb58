// Gemma 2 and 3.
#include "source/folder/config_keys.h"
#include "source/folder/family_keys.h"

namespace octavo {
namespace {

/// Checks the scale of scores: they are divided by the root of a head's length or, in the models of 27 billion weights,
/// of the width divided by the heads. Octavo knows these by their number of layers, as llama.cpp does.
Result<void> check_score_scale(const FamilyKeys& keys, std::uint64_t layers_of_27b) {
  OCTAVO_TRY(const auto given, keys.config.number_if("query_pre_attn_scalar"));
  if (!given) return {};
  OCTAVO_TRY(const std::uint64_t layers, keys.config.size("num_hidden_layers"));
  OCTAVO_TRY(const std::uint64_t width, keys.config.size("hidden_size"));
  OCTAVO_TRY(const std::uint64_t heads, keys.config.size("num_attention_heads"));
  OCTAVO_TRY(const std::uint64_t head, head_length(keys.config));
  const std::uint64_t expected = layers == layers_of_27b && heads > 0 ? width / heads : head;
  if (*given == static_cast<double>(expected)) return {};
  return fail("{} is {}, expected {}", keys.config.place("query_pre_attn_scalar"), *given, expected);
}

}  // namespace

Result<void> add_gemma2_keys(const FamilyKeys& keys) {
  OCTAVO_TRY_VOID(add_dense_keys(keys));
  OCTAVO_TRY_VOID(add_context(keys));
  OCTAVO_TRY_VOID(add_window(keys));
  OCTAVO_TRY_VOID(check_kinds_of_layers(keys, 2));
  for (const std::string_view cap : {"attn_logit_softcapping", "final_logit_softcapping"}) {
    OCTAVO_TRY(const double value, keys.config.number(cap));
    keys.out.add_f32(keys.key(cap), value);
  }
  return check_score_scale(keys, 46);
}

Result<void> add_gemma_embedding_keys(const FamilyKeys& keys) {
  OCTAVO_TRY(const bool sees_both_ways, keys.config.flag_or("use_bidirectional_attention", false));
  if (sees_both_ways) return add_gemma3_keys(keys);
  return fail("{} is false, expected true: without an output matrix a Gemma3TextModel makes vectors alone",
              keys.config.place("use_bidirectional_attention"));
}

Result<void> add_gemma3_keys(const FamilyKeys& keys) {
  OCTAVO_TRY_VOID(add_dense_keys(keys));
  OCTAVO_TRY_VOID(add_context(keys));
  OCTAVO_TRY_VOID(add_window(keys));
  OCTAVO_TRY_VOID(check_kinds_of_layers(keys, 6));
  for (const std::string_view cap : {"attn_logit_softcapping", "final_logit_softcapping"})
    if (keys.config.has(cap)) return fail("{}: this is not supported", keys.config.place(cap));
  OCTAVO_TRY(const auto local, rope_object(keys.config, "sliding_attention"));
  std::optional<double> base;
  if (local && keys.config.has("rope_parameters")) {
    OCTAVO_TRY(base, local->number_if("rope_theta"));
  } else {
    OCTAVO_TRY(base, keys.config.number_if("rope_local_base_freq"));
  }
  if (base) keys.out.add_f32(keys.key("rope.freq_base_swa"), *base);
  return check_score_scale(keys, 62);
}

}  // namespace octavo
