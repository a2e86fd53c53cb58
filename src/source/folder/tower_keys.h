// What the families of encoders in folders share: members of config.json as keys, and checks of others. Errors name the
// member.
#pragma once

#include "source/folder/config_keys.h"
#include "source/folder/tower.h"

namespace octavo {

/// The key of an encoder that ends with `suffix`.
std::string vision_key(std::string_view suffix);

/// Checks a member that is a text, if it is there.
Result<void> require_word(const JsonObject& vision, std::string_view name, std::string_view expected);
/// Checks a member that is a size, if it is there.
Result<void> require_size(const JsonObject& vision, std::string_view name, std::uint64_t expected);
/// Checks the base of the rotation, if it is there.
Result<void> require_rope_base(const JsonObject& vision, double expected);

/// Adds the least and the most pixels of a picture, which have one of two names.
Result<void> add_pixels(const TowerKeys& keys);
/// Adds members that are sizes.
Result<void> add_sizes(const TowerKeys& keys, std::span<const SizeName> names);
/// Adds a size that may be missing.
Result<void> add_size_or(const TowerKeys& keys, const JsonObject& from, const SizeName& name, std::uint64_t otherwise);
/// Adds the epsilon of the norms.
Result<void> add_epsilon(const TowerKeys& keys, std::string_view name, double otherwise);
/// Adds the sizes of SigLIP's layers, with the numbers that a config may leave out.
Result<void> add_siglip_sizes(const TowerKeys& keys);

/// Families beside those of tower_families.cc: Qwen2-VL, Qwen2.5-VL, MiniCPM-V, Muse Glimmer.
std::span<const TowerFamily> towers_with_windows();

}  // namespace octavo
