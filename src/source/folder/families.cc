#include <algorithm>

#include "base/joined.h"
#include "base/text.h"
#include "source/folder/config_keys.h"
#include "source/folder/family.h"

namespace octavo {
namespace {

/// The context, no longer than a window that every layer has: within it the window changes nothing.
Result<void> add_context(const FamilyKeys& keys, std::optional<std::uint64_t> window = {}) {
  OCTAVO_TRY(const std::uint64_t context, keys.config.size("max_position_embeddings"));
  keys.out.add_u32(keys.key("context_length"), std::min(context, window.value_or(context)));
  return {};
}

Result<void> add_dense_keys(const FamilyKeys& keys) {
  OCTAVO_TRY_VOID(add_common_keys(keys));
  return add_rope_keys(keys);
}

Result<void> add_llama_keys(const FamilyKeys& keys) {
  OCTAVO_TRY_VOID(add_dense_keys(keys));
  OCTAVO_TRY(const auto window, keys.config.size_if("sliding_window"));  // the first Mistral models
  return add_context(keys, window);
}

Result<void> add_mixtral_keys(const FamilyKeys& keys) {
  OCTAVO_TRY_VOID(add_llama_keys(keys));
  return add_mixture_keys(keys, {"num_local_experts", "num_experts_per_tok", "intermediate_size"});
}

Result<void> add_qwen_keys(const FamilyKeys& keys) {
  OCTAVO_TRY_VOID(add_dense_keys(keys));
  OCTAVO_TRY_VOID(require_flag(keys, "use_sliding_window", false));
  return add_context(keys);
}

Result<void> add_qwen3moe_keys(const FamilyKeys& keys) {
  OCTAVO_TRY_VOID(add_qwen_keys(keys));
  OCTAVO_TRY_VOID(require_flag(keys, "norm_topk_prob", true));
  OCTAVO_TRY(const auto step, keys.config.size_if("decoder_sparse_step"));
  const TemplateValue* dense = keys.config.find("mlp_only_layers");
  const auto* layers = dense == nullptr ? nullptr : std::get_if<TemplateList>(dense);
  if (step.value_or(1) != 1 || (layers != nullptr && !layers->empty()))
    return fail("{} or {}: layers without experts are not supported", keys.config.place("decoder_sparse_step"),
                keys.config.place("mlp_only_layers"));
  return add_mixture_keys(keys, {"num_experts", "num_experts_per_tok", "moe_intermediate_size"});
}

/// Scores are divided by the root of the head's length, or in the models of 27 billion weights of the width of a head's
/// share; Octavo knows these by their number of layers, as llama.cpp does.
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

Result<void> add_window(const FamilyKeys& keys) {
  OCTAVO_TRY(const std::uint64_t window, keys.config.size("sliding_window"));
  keys.out.add_u32(keys.key("attention.sliding_window"), window);
  return {};
}

/// Of every `period` layers the last one sees all of the context.
Result<void> check_kinds_of_layers(const FamilyKeys& keys, std::uint64_t period) {
  OCTAVO_TRY(const auto given, keys.config.size_if("sliding_window_pattern"));
  if (given && *given != period)
    return fail("{} is {}, expected {}", keys.config.place("sliding_window_pattern"), *given, period);
  const TemplateValue* value = keys.config.find("layer_types");
  const auto* kinds = value == nullptr ? nullptr : std::get_if<TemplateList>(value);
  if (kinds == nullptr) return {};
  for (std::size_t i = 0; i < kinds->size(); ++i) {
    const std::string_view expected = (i + 1) % period == 0 ? "full_attention" : "sliding_attention";
    const auto* kind = std::get_if<std::string>(&(*kinds)[i]);
    if (kind == nullptr || *kind != expected)
      return fail("{}: layer {} is {}, expected {}", keys.config.place("layer_types"), i,
                  kind == nullptr ? "no text" : quote(*kind), expected);
  }
  return {};
}

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

constexpr Family kFamilies[] = {
    {.model = "LlamaForCausalLM", .architecture = "llama", .add_keys = add_llama_keys, .pairs_neighbours = true},
    {.model = "MistralForCausalLM", .architecture = "llama", .add_keys = add_llama_keys, .pairs_neighbours = true},
    {.model = "MixtralForCausalLM", .architecture = "llama", .add_keys = add_mixtral_keys, .pairs_neighbours = true},
    {.model = "Qwen2ForCausalLM", .architecture = "qwen2", .add_keys = add_qwen_keys},
    {.model = "Qwen3ForCausalLM", .architecture = "qwen3", .add_keys = add_qwen_keys},
    {.model = "Qwen3MoeForCausalLM", .architecture = "qwen3moe", .add_keys = add_qwen3moe_keys},
    {.model = "Gemma2ForCausalLM",
     .architecture = "gemma2",
     .add_keys = add_gemma2_keys,
     .adds_one_to_norms = true,
     .has_norms_behind = true},
    {.model = "Gemma3ForCausalLM",
     .architecture = "gemma3",
     .add_keys = add_gemma3_keys,
     .adds_one_to_norms = true,
     .has_norms_behind = true},
    {.model = "Gemma3ForConditionalGeneration",
     .architecture = "gemma3",
     .add_keys = add_gemma3_keys,
     .adds_one_to_norms = true,
     .has_norms_behind = true,
     .language_prefix = "language_model."},
};

}  // namespace

const Family* find_family(std::string_view model) {
  const auto found = std::ranges::find(kFamilies, model, &Family::model);
  return found == std::end(kFamilies) ? nullptr : &*found;
}

std::string family_names() { return joined(kFamilies, &Family::model); }

}  // namespace octavo
