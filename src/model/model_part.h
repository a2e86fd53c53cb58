// The parts of a model, as `octavo info` counts weights.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "base/to_size.h"

namespace octavo {

/// The part of a model that a tensor belongs to.
enum class ModelPart : std::uint8_t {
  kEmbedding,
  kAttention,
  kRecurrence,
  kFeedForward,
  kPerLayer,
  kNorms,
  kOutput,
  kOther,
  kRanking,  // a head that ranks texts
  kSkipped   // not needed for text (is_skipped)
};
inline std::string_view name_of(ModelPart part) {
  constexpr std::array<std::string_view, 10> kNames = {"embedding", "attention", "recurrence", "feed-forward",
                                                       "per-layer", "norms",     "output",     "other",
                                                       "ranking",   "skipped"};
  return kNames[to_size(part)];
}
/// The part that a tensor's name alone tells: never kSkipped; fused Q, K and V count as a delta net's.
inline ModelPart part_of(std::string_view name) {
  if (name.starts_with("cls.")) return ModelPart::kRanking;
  if (name.find("norm") != std::string_view::npos) return ModelPart::kNorms;
  for (const std::string_view of_layers : {"per_layer_", ".inp_gate.", ".proj."})
    if (name.find(of_layers) != std::string_view::npos) return ModelPart::kPerLayer;
  if (name.starts_with("token_embd")) return ModelPart::kEmbedding;
  if (name.starts_with("output")) return ModelPart::kOutput;
  for (const std::string_view of_recurrence : {".ssm_", ".shortconv.", ".attn_qkv.", ".attn_gate."})
    if (name.find(of_recurrence) != std::string_view::npos) return ModelPart::kRecurrence;
  if (name.find(".attn_") != std::string_view::npos) return ModelPart::kAttention;
  if (name.find(".ffn_") != std::string_view::npos) return ModelPart::kFeedForward;
  return ModelPart::kOther;
}

}  // namespace octavo
