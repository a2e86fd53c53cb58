// Phi 3, 3.5 and Phi-4-mini, whose rotation has two lists of factors (LongRoPE).
#include <cmath>

#include "base/text.h"
#include "source/folder/config_keys.h"
#include "source/folder/family_keys.h"
#include "source/tensor_names.h"

namespace octavo {
namespace {

constexpr double kRopeBase = 10000;  // the base where config.json does not say
constexpr std::string_view kOriginal = "original_max_position_embeddings";

/// The factors of the frequencies; none: the context is not extended.
Result<std::optional<JsonObject>> long_rope(const JsonObject& config) {
  OCTAVO_TRY(auto rope, rope_object(config));
  if (!rope) return std::nullopt;
  const std::string_view name = rope->has("rope_type") ? "rope_type" : "type";
  if (!rope->has(name)) return std::nullopt;
  OCTAVO_TRY(const std::string_view type, rope->text(name));
  if (type == "default") return std::nullopt;
  if (type != "longrope" && type != "su")
    return fail("{} is {}, supported are: default, longrope, su", rope->place(name), quote(type));
  return rope;
}

/// Adds the factor of cosines and sines (transformers, modeling_rope_utils.py, "longrope").
Result<void> add_magnitude(const FamilyKeys& keys, const JsonObject& rope, double context, double original) {
  OCTAVO_TRY(auto magnitude, rope.number_if("attention_factor"));
  const double factor = context / original;
  if (!magnitude) magnitude = factor > 1 ? std::sqrt(1 + std::log(factor) / std::log(original)) : 1;
  keys.out.add_f32(keys.key("rope.scaling.attn_factor"), *magnitude);
  return {};
}

Result<std::vector<float>> list_of(const JsonObject& rope, std::string_view name) {
  const TemplateList* list = rope.find_list(name);
  if (list == nullptr || list->size() > kLongestHead)
    return fail("{}: expected a list of at most {} numbers", rope.place(name), kLongestHead);
  std::vector<float> numbers;
  for (const TemplateValue& element : *list) {
    const auto* whole = std::get_if<std::int64_t>(&element);
    const auto* number = std::get_if<double>(&element);
    if (whole == nullptr && number == nullptr)
      return fail("{}: element {} is no number", rope.place(name), numbers.size());
    numbers.push_back(whole != nullptr ? static_cast<float>(*whole) : static_cast<float>(*number));
  }
  return numbers;
}

}  // namespace

Result<void> add_phi3_keys(const FamilyKeys& keys) {
  OCTAVO_TRY_VOID(add_common_keys(keys));
  OCTAVO_TRY_VOID(add_context(keys));
  OCTAVO_TRY(const auto base, rope_number(keys.config, "rope_theta"));
  OCTAVO_TRY(const auto part, rope_number(keys.config, "partial_rotary_factor"));
  OCTAVO_TRY(const std::uint64_t head, head_length(keys.config));
  keys.out.add_f32(keys.key("rope.freq_base"), base.value_or(kRopeBase));
  keys.out.add_u32(keys.key("rope.dimension_count"), rotated_dims(part.value_or(1), head));
  OCTAVO_TRY(const auto stretched, long_rope(keys.config));
  if (!stretched) return {};
  OCTAVO_TRY(auto original, keys.config.size_if(kOriginal));
  OCTAVO_TRY(const auto own_original, stretched->size_if(kOriginal));
  if (own_original) original = own_original;
  if (!original || *original < 2) return fail("{} is missing", keys.config.place(kOriginal));
  keys.out.add_u32(keys.key("rope.scaling.original_context_length"), *original);
  OCTAVO_TRY(const std::uint64_t context, keys.config.size("max_position_embeddings"));
  return add_magnitude(keys, *stretched, static_cast<double>(context), static_cast<double>(*original));
}

Result<std::vector<MadeVector>> phi3_rope_factors(const JsonObject& config) {
  OCTAVO_TRY(const auto rope, long_rope(config));
  std::vector<MadeVector> made;
  if (!rope) return made;
  OCTAVO_TRY(std::vector<float> of_long, list_of(*rope, "long_factor"));
  OCTAVO_TRY(std::vector<float> of_short, list_of(*rope, "short_factor"));
  made.push_back({std::string(tensor_names::kLongRopeFactors), std::move(of_long)});
  made.push_back({std::string(tensor_names::kShortRopeFactors), std::move(of_short)});
  return made;
}

}  // namespace octavo
