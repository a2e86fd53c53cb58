// Keys of config.json that several families share, as GGUF's. Errors name the file and the key.
#pragma once

#include "source/folder/family.h"

namespace octavo {

/// Sizes, heads, norms' epsilon, vocabulary and context. Error: one is missing, or something that changes what the
/// model computes has a value that is not supported.
Result<void> add_common_keys(const FamilyKeys& keys);
/// The rotation of positions: rope_parameters as transformers 5 writes them, or rope_theta and rope_scaling. Llama 3's
/// factors are no keys: rope_factors() gives them.
Result<void> add_rope_keys(const FamilyKeys& keys);
/// Counts of a mixture under the names that this family gives them.
struct MixtureNames {
  std::string_view num_experts, num_chosen, width;
};
Result<void> add_mixture_keys(const FamilyKeys& keys, const MixtureNames& names);

/// Error: a member has another value than the one that is supported. Missing is that value.
Result<void> require_flag(const FamilyKeys& keys, std::string_view name, bool supported);
Result<void> require_text(const FamilyKeys& keys, std::string_view name,
                          std::initializer_list<std::string_view> supported);

/// The length of a head.
Result<std::uint64_t> head_length(const JsonObject& config);

/// The object that says how positions are rotated, of a kind of layer ("full_attention") where each has its own; none:
/// config.json has the base alone.
Result<std::optional<JsonObject>> rope_object(const JsonObject& config, std::string_view kind_of_layer = {});
/// Divisors of the frequencies, one for each pair of a head, as Llama 3.1 stretches its context; empty: it does not.
Result<std::vector<float>> rope_factors(const JsonObject& config);

}  // namespace octavo
