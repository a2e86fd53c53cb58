// The names of tensors: from those of `transformers` to GGUF's.
#include <algorithm>
#include <charconv>

#include "base/to_size.h"
#include "source/folder/family.h"

namespace octavo {
namespace {

constexpr TensorName kWhole[] = {{"model.embed_tokens.weight", "token_embd.weight"},
                                 {"model.norm.weight", "output_norm.weight"},
                                 {"lm_head.weight", "output.weight"},
                                 {"dense.first.linear.weight", "dense_2.weight"},  // of sentence-transformers
                                 {"dense.last.linear.weight", "dense_3.weight"},
                                 {"model.embed_tokens_per_layer.weight", "per_layer_token_embd.weight"},
                                 {"model.per_layer_model_projection.weight", "per_layer_model_proj.weight"},
                                 {"model.per_layer_projection_norm.weight", "per_layer_proj_norm.weight"}};

constexpr TensorName kParts[] = {
    {"input_layernorm", "attn_norm"},
    {"self_attn.q_proj", "attn_q"},
    {"self_attn.k_proj", "attn_k"},
    {"self_attn.v_proj", "attn_v"},
    {"self_attn.o_proj", "attn_output"},
    {"self_attn.q_norm", "attn_q_norm"},
    {"self_attn.k_norm", "attn_k_norm"},
    {"mlp.gate_proj", "ffn_gate"},
    {"mlp.up_proj", "ffn_up"},
    {"mlp.down_proj", "ffn_down"},
    {"mlp.gate", "ffn_gate_inp"},
    {"block_sparse_moe.gate", "ffn_gate_inp"},
    {"mlp.experts.gate_up_proj", "ffn_gate_exps.weight", TensorForm::kGateThenUp},  // as transformers 5 saves them
    {"mlp.experts.down_proj", "ffn_down_exps.weight"},
    {"mlp.gate.e_score_correction_bias", "exp_probs_b.bias", TensorForm::kVector},
    {"mlp.shared_expert_gate", "ffn_gate_inp_shexp", TensorForm::kVector},
    {"mlp.shared_experts.gate_proj", "ffn_gate_shexp"},
    {"mlp.shared_experts.up_proj", "ffn_up_shexp"},
    {"mlp.shared_experts.down_proj", "ffn_down_shexp"},
    {"mlp.shared_expert.gate_proj", "ffn_gate_shexp"},
    {"mlp.shared_expert.up_proj", "ffn_up_shexp"},
    {"mlp.shared_expert.down_proj", "ffn_down_shexp"},
};
constexpr TensorName kNormsInFront[] = {{"post_attention_layernorm", "ffn_norm"}};
constexpr TensorName kNormsBehind[] = {{"post_attention_layernorm", "post_attention_norm"},
                                       {"pre_feedforward_layernorm", "ffn_norm"},
                                       {"post_feedforward_layernorm", "post_ffw_norm"}};
// The rest of a name after "mlp.experts.N.", "block_sparse_moe.experts.N." or "mixer.experts.N.".
constexpr TensorName kExperts[] = {{"gate_proj", "ffn_gate_exps"}, {"up_proj", "ffn_up_exps"},
                                   {"down_proj", "ffn_down_exps"}, {"w1", "ffn_gate_exps"},
                                   {"w3", "ffn_up_exps"},          {"w2", "ffn_down_exps"}};

// The part of a name before a head's number, where each head has a norm of its own.
constexpr TensorName kNormsOfHeads[] = {{"self_attn.q_layernorm.norms.", "attn_q_norm.weight"},
                                        {"self_attn.k_layernorm.norms.", "attn_k_norm.weight"}};

/// The place of a layer's part, such as "self_attn.q_proj.weight", in a layer of GGUF.
std::optional<TensorPlace> place_in_layer(const Family& family, std::string_view name) {
  if (auto place = place_in_table(family.own_names, name)) return place;
  if (auto place = place_in_table(kParts, name)) return place;
  if (take_prefix(name, "mlp.experts.") || take_prefix(name, "block_sparse_moe.experts.") ||
      take_prefix(name, "mixer.experts.")) {
    const auto expert = take_number(name);
    auto place = expert ? place_in_table(kExperts, name) : std::nullopt;
    if (place) place->expert = expert;
    return place;
  }
  for (const auto& [from, to, form] : kNormsOfHeads)
    if (take_prefix(name, from)) {
      const auto head = take_number(name);
      if (!head || name != "weight") return std::nullopt;
      return TensorPlace{.name = std::string(to), .form = form, .expert = head};
    }
  return place_in_table(
      family.has_norms_behind ? std::span<const TensorName>(kNormsBehind) : std::span<const TensorName>(kNormsInFront),
      name);
}

/// The name as a text-only model has it; none for a tensor of another part.
std::optional<std::string> name_in_language_model(const Family& family, std::string_view name) {
  if (!family.has_other_parts || name == "lm_head.weight") {
    const bool is_bare =
        !family.is_encoder && (name.starts_with("layers.") || name == "embed_tokens.weight" || name == "norm.weight");
    return is_bare ? "model." + std::string(name) : std::string(name);  // as models without an output are saved
  }
  // transformers 4 saved "language_model.model.norm.weight" and "language_model.lm_head.weight"; 5 has another form.
  if (take_prefix(name, "language_model.")) return std::string(name);
  if (take_prefix(name, "model.language_model.") || take_prefix(name, "model.text_model."))
    return "model." + std::string(name);
  // Qwen2-VL was saved in this form, beside "visual.".
  if (name.starts_with("model.layers.") || name == "model.embed_tokens.weight" || name == "model.norm.weight")
    return std::string(name);
  return std::nullopt;
}

bool is_behind_layers(const Family& family, std::string_view name, std::uint64_t num_layers) {
  if (!family.has_layers_behind || !take_prefix(name, family.layers)) return false;
  const auto layer = take_number(name);
  return layer && *layer >= num_layers;
}

}  // namespace

bool take_prefix(std::string_view& text, std::string_view prefix) {
  if (!text.starts_with(prefix)) return false;
  text.remove_prefix(prefix.size());
  return true;
}

std::optional<std::uint64_t> take_number(std::string_view& text) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{}) return std::nullopt;
  text.remove_prefix(to_size(end - text.data()));
  if (!take_prefix(text, ".")) return std::nullopt;
  return number;
}

std::optional<TensorPlace> place_in_table(std::span<const TensorName> names, std::string_view name) {
  if (const auto whole = std::ranges::find(names, name, &TensorName::from); whole != names.end())
    return TensorPlace{.name = std::string(whole->to), .form = whole->form};
  const std::size_t dot = name.rfind('.');
  const std::string_view ending = dot == std::string_view::npos ? "" : name.substr(dot);
  if (ending != ".weight" && ending != ".bias") return std::nullopt;
  const auto part = std::ranges::find(names, name.substr(0, dot), &TensorName::from);
  if (part == names.end() || part->to.contains('.')) return std::nullopt;
  return TensorPlace{.name = std::string(part->to) + std::string(ending), .form = part->form};
}

std::optional<TensorPlace> place_of_tensor(const Family& family, std::string_view given) {
  const auto whole_name = name_in_language_model(family, given);
  if (!whole_name) return std::nullopt;
  std::string_view name = *whole_name;
  if (!family.base.empty() && !take_prefix(name, family.base) && !family.old_base.empty())
    take_prefix(name, family.old_base);
  if (auto whole = place_in_table(family.own_whole_names, name)) return whole;
  if (auto whole = place_in_table(kWhole, name)) return whole;
  if (!take_prefix(name, family.layers)) return std::nullopt;
  const auto layer = take_number(name);
  if (!layer) return std::nullopt;
  auto place = place_in_layer(family, name);
  if (place) place->name = fmt::format("blk.{}.{}", *layer, place->name);
  return place;
}

std::optional<LayerNumberPlace> place_of_layer_number(const Family& family, std::string_view name) {
  if (family.layer_numbers.empty() || !take_prefix(name, family.layers)) return std::nullopt;
  const auto layer = take_number(name);
  const auto number = std::ranges::find(family.layer_numbers, name, &TensorName::from);
  if (!layer || number == family.layer_numbers.end()) return std::nullopt;
  return LayerNumberPlace{number->to, *layer};
}

bool is_left_out(const Family& family, std::string_view name, std::uint64_t num_layers) {
  return name.ends_with(".rotary_emb.inv_freq") || name.ends_with("embeddings.position_ids") ||
         place_of_layer_number(family, name) || name.starts_with("mtp.") || name.starts_with("model.mtp.") ||
         name.starts_with("model.mtp_") || is_behind_layers(family, name, num_layers) ||
         !name_in_language_model(family, name);
}

}  // namespace octavo
