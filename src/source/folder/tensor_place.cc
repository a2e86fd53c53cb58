// Names of tensors: those of `transformers` to GGUF's.
#include <algorithm>
#include <charconv>

#include "base/to_size.h"
#include "source/folder/family.h"

namespace octavo {
namespace {

struct NamePair {
  std::string_view from, to;
};

constexpr NamePair kWhole[] = {{"model.embed_tokens.weight", "token_embd.weight"},
                               {"model.norm.weight", "output_norm.weight"},
                               {"lm_head.weight", "output.weight"}};

// Parts of a layer, without ".weight" or ".bias".
constexpr NamePair kParts[] = {
    {"input_layernorm", "attn_norm"},    {"self_attn.q_proj", "attn_q"},      {"self_attn.k_proj", "attn_k"},
    {"self_attn.v_proj", "attn_v"},      {"self_attn.o_proj", "attn_output"}, {"self_attn.q_norm", "attn_q_norm"},
    {"self_attn.k_norm", "attn_k_norm"}, {"mlp.gate_proj", "ffn_gate"},       {"mlp.up_proj", "ffn_up"},
    {"mlp.down_proj", "ffn_down"},       {"mlp.gate", "ffn_gate_inp"},        {"block_sparse_moe.gate", "ffn_gate_inp"},
};
constexpr NamePair kNormsInFront[] = {{"post_attention_layernorm", "ffn_norm"}};
constexpr NamePair kNormsBehind[] = {{"post_attention_layernorm", "post_attention_norm"},
                                     {"pre_feedforward_layernorm", "ffn_norm"},
                                     {"post_feedforward_layernorm", "post_ffw_norm"}};
// Behind "mlp.experts.N." or "block_sparse_moe.experts.N.".
constexpr NamePair kExperts[] = {{"gate_proj", "ffn_gate_exps"}, {"up_proj", "ffn_up_exps"},
                                 {"down_proj", "ffn_down_exps"}, {"w1", "ffn_gate_exps"},
                                 {"w3", "ffn_up_exps"},          {"w2", "ffn_down_exps"}};

std::optional<std::string_view> look_up(std::span<const NamePair> pairs, std::string_view name) {
  const auto found = std::ranges::find(pairs, name, &NamePair::from);
  if (found == pairs.end()) return std::nullopt;
  return found->to;
}

/// Takes `prefix` away from the front of `text`, if it is there.
bool take(std::string_view& text, std::string_view prefix) {
  if (!text.starts_with(prefix)) return false;
  text.remove_prefix(prefix.size());
  return true;
}

/// Takes a number and the dot behind it.
std::optional<std::uint64_t> take_number(std::string_view& text) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{}) return std::nullopt;
  text.remove_prefix(to_size(end - text.data()));
  if (!take(text, ".")) return std::nullopt;
  return number;
}

/// Name of a part of a layer, "self_attn.q_proj.weight", in GGUF's layer.
std::optional<TensorPlace> place_in_layer(const Family& family, std::string_view name) {
  std::optional<std::uint64_t> expert;
  const bool is_expert = take(name, "mlp.experts.") || take(name, "block_sparse_moe.experts.");
  if (is_expert) {
    expert = take_number(name);
    if (!expert) return std::nullopt;
  }
  const std::size_t dot = name.rfind('.');
  if (dot == std::string_view::npos) return std::nullopt;
  const std::string_view part = name.substr(0, dot), kind = name.substr(dot);
  if (kind != ".weight" && kind != ".bias") return std::nullopt;
  const std::span<const NamePair> norms =
      family.has_norms_behind ? std::span<const NamePair>(kNormsBehind) : std::span<const NamePair>(kNormsInFront);
  auto to = is_expert ? look_up(kExperts, part) : look_up(kParts, part);
  if (!to && !is_expert) to = look_up(norms, part);
  if (!to) return std::nullopt;
  return TensorPlace{.name = std::string(*to) + std::string(kind), .expert = expert};
}

/// The name as a model of language alone has it; none for a tensor of another part.
std::optional<std::string> name_in_language_model(const Family& family, std::string_view name) {
  if (family.language_prefix.empty() || name == "lm_head.weight") return std::string(name);
  // "language_model.lm_head.weight", or "model.language_model.norm.weight"
  if (!take(name, family.language_prefix)) return std::nullopt;
  if (name.starts_with("model.") || name.starts_with("lm_head.")) return std::string(name);
  return "model." + std::string(name);
}

}  // namespace

std::optional<TensorPlace> place_of_tensor(const Family& family, std::string_view given) {
  const auto whole_name = name_in_language_model(family, given);
  if (!whole_name) return std::nullopt;
  std::string_view name = *whole_name;
  if (const auto whole = look_up(kWhole, name)) return TensorPlace{.name = std::string(*whole)};
  if (!take(name, "model.layers.")) return std::nullopt;
  const auto layer = take_number(name);
  if (!layer) return std::nullopt;
  auto place = place_in_layer(family, name);
  if (place) place->name = fmt::format("blk.{}.{}", *layer, place->name);
  return place;
}

bool is_left_out(const Family& family, std::string_view name) {
  return name.ends_with(".rotary_emb.inv_freq") || !name_in_language_model(family, name);
}

}  // namespace octavo
