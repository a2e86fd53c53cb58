// Encoders: BERT, RoBERTa and XLM-RoBERTa, ModernBERT, Nomic Embed, Jina Embeddings 3.
#include <algorithm>

#include "source/folder/config_keys.h"
#include "source/folder/family_keys.h"

namespace octavo {
namespace {

constexpr int kMean = 1, kCls = 2;               // values of pooling_type
constexpr std::uint64_t kTrainedByNomic = 2048;  // the positions where config.json does not say

Result<void> add_encoder_sizes(const FamilyKeys& keys, std::string_view epsilon_name) {
  constexpr SizeName kSizes[] = {{"num_hidden_layers", "block_count"},
                                 {"hidden_size", "embedding_length"},
                                 {"intermediate_size", "feed_forward_length"},
                                 {"num_attention_heads", "attention.head_count"},
                                 {"vocab_size", "vocab_size"}};
  OCTAVO_TRY_VOID(add_named_sizes(keys, kSizes));
  OCTAVO_TRY(const double epsilon, keys.config.number(epsilon_name));
  keys.out.add_f32(keys.key("attention.layer_norm_epsilon"), epsilon);
  return {};
}

/// Adds the number of learned positions. `beyond`: the number of them that no text has.
Result<void> add_learned_positions(const FamilyKeys& keys, std::uint64_t beyond) {
  OCTAVO_TRY_VOID(add_encoder_sizes(keys, "layer_norm_eps"));
  OCTAVO_TRY_VOID(require_text(keys, "hidden_act", {"gelu"}));
  OCTAVO_TRY_VOID(require_text(keys, "position_embedding_type", {"absolute"}));
  OCTAVO_TRY(const std::uint64_t types, keys.config.size("type_vocab_size"));
  keys.out.add_u32("tokenizer.ggml.token_type_count", types);
  OCTAVO_TRY(const std::uint64_t positions, keys.config.size("max_position_embeddings"));
  if (positions <= beyond)
    return fail("{} is {}, expected more than {}", keys.config.place("max_position_embeddings"), positions, beyond);
  keys.out.add_u32(keys.key("context_length"), positions - beyond);
  return {};
}

Result<void> require_default_rope(const JsonObject& rope) {
  if (!rope.has("rope_type")) return {};
  OCTAVO_TRY(const std::string_view type, rope.text("rope_type"));
  return type == "default" ? Result<void>{} : fail("{} is {}, expected default", rope.place("rope_type"), type);
}

/// The base of the rotation as transformers 5 writes it, or under its older name.
Result<double> rope_base(const JsonObject& config, std::string_view kind_of_layer, std::string_view old_name) {
  if (!config.has("rope_parameters")) return config.number(old_name);
  OCTAVO_TRY(const auto rope, rope_object(config, kind_of_layer));
  if (!rope) return fail("{}: found nothing about {}", config.place("rope_parameters"), kind_of_layer);
  OCTAVO_TRY_VOID(require_default_rope(*rope));
  return rope->number("rope_theta");
}

Result<void> add_token_types(const FamilyKeys& keys) {
  OCTAVO_TRY(const std::uint64_t types, keys.config.size("type_vocab_size"));
  keys.out.add_u32("tokenizer.ggml.token_type_count", types);
  return {};
}

/// Adds the keys of a config of Nomic's own code.
Result<void> add_old_nomic_keys(const FamilyKeys& keys) {
  constexpr SizeName kSizes[] = {{"n_layer", "block_count"},
                                 {"n_embd", "embedding_length"},
                                 {"n_inner", "feed_forward_length"},
                                 {"n_head", "attention.head_count"},
                                 {"vocab_size", "vocab_size"}};
  OCTAVO_TRY_VOID(add_named_sizes(keys, kSizes));
  constexpr std::string_view kOff[] = {"prenorm",      "qkv_proj_bias", "mlp_fc1_bias",
                                       "mlp_fc2_bias", "use_rms_norm",  "rotary_emb_interleaved"};
  for (const std::string_view flag : kOff) OCTAVO_TRY_VOID(require_flag(keys, flag, false));
  OCTAVO_TRY_VOID(require_text(keys, "activation_function", {"swiglu"}));
  OCTAVO_TRY(const double rotated, keys.config.number("rotary_emb_fraction"));
  if (rotated != 1) return fail("{} is {}, expected 1", keys.config.place("rotary_emb_fraction"), rotated);
  OCTAVO_TRY(const double base, keys.config.number("rotary_emb_base"));
  keys.out.add_f32(keys.key("rope.freq_base"), base);
  OCTAVO_TRY(const double epsilon, keys.config.number("layer_norm_epsilon"));
  keys.out.add_f32(keys.key("attention.layer_norm_epsilon"), epsilon);
  // Longer texts would have other frequencies, which depend on their lengths.
  OCTAVO_TRY(const std::uint64_t positions, keys.config.size("n_positions"));
  OCTAVO_TRY(const auto trained, keys.config.size_if("max_trained_positions"));
  keys.out.add_u32(keys.key("context_length"), std::min(positions, trained.value_or(kTrainedByNomic)));
  return add_token_types(keys);
}

/// Adds the keys of a config of transformers.
Result<void> add_rotary_bert_keys(const FamilyKeys& keys) {
  OCTAVO_TRY_VOID(add_encoder_sizes(keys, "layer_norm_eps"));
  OCTAVO_TRY_VOID(add_context(keys));
  OCTAVO_TRY(const double base, rope_base(keys.config, "", "rope_theta"));
  keys.out.add_f32(keys.key("rope.freq_base"), base);
  return add_token_types(keys);
}

}  // namespace

Result<void> add_bert_keys(const FamilyKeys& keys) { return add_learned_positions(keys, 0); }

// Positions are counted from the padding token's id plus 1.
Result<void> add_roberta_keys(const FamilyKeys& keys) {
  OCTAVO_TRY(const auto padding, keys.config.size_if("pad_token_id"));
  return add_learned_positions(keys, padding.value_or(0) + 1);
}

Result<void> add_nomic_bert_keys(const FamilyKeys& keys) {
  if (keys.config.has("n_embd")) return add_old_nomic_keys(keys);
  OCTAVO_TRY_VOID(require_text(keys, "hidden_act", {"silu"}));
  return add_rotary_bert_keys(keys);
}

Result<void> add_jina_bert_v3_keys(const FamilyKeys& keys) {
  OCTAVO_TRY_VOID(require_text(keys, "hidden_act", {"gelu"}));
  return add_rotary_bert_keys(keys);
}

Result<void> add_modern_bert_keys(const FamilyKeys& keys) {
  OCTAVO_TRY_VOID(add_encoder_sizes(keys, "norm_eps"));
  for (const std::string_view bias : {"attention_bias", "mlp_bias", "norm_bias", "classifier_bias"})
    OCTAVO_TRY_VOID(require_flag(keys, bias, false));
  OCTAVO_TRY_VOID(add_context(keys));
  OCTAVO_TRY(const double base, rope_base(keys.config, "full_attention", "global_rope_theta"));
  keys.out.add_f32(keys.key("rope.freq_base"), base);
  OCTAVO_TRY(const double local_base, rope_base(keys.config, "sliding_attention", "local_rope_theta"));
  keys.out.add_f32(keys.key("rope.freq_base_swa"), local_base);
  OCTAVO_TRY(const std::uint64_t window, keys.config.size("local_attention"));
  keys.out.add_u32(keys.key("attention.sliding_window"), window);
  OCTAVO_TRY(const std::uint64_t every, keys.config.size("global_attn_every_n_layers"));
  keys.out.add_u32(keys.key("attention.sliding_window_pattern"), every);
  if (keys.config.has("hidden_activation")) {
    OCTAVO_TRY(const std::string_view activation, keys.config.text("hidden_activation"));
    keys.out.add_text(keys.key("hidden_activation"), std::string(activation));
  }
  if (!keys.config.has("classifier_pooling")) return {};
  OCTAVO_TRY(const std::string_view pooling, keys.config.text("classifier_pooling"));
  keys.out.add_u32(keys.key("classifier.pooling_type"), pooling == "cls" ? kCls : kMean);
  return require_text(keys, "classifier_pooling", {"cls", "mean"});
}

}  // namespace octavo
