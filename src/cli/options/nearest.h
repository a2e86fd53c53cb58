// Words that somebody may have meant: what is unknown is answered with what is known and near to it.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace octavo::cli {

/// Letters to insert, drop, change or swap with their neighbour to make `a` into `b` (optimal string alignment).
/// Upper and lower case are the same here.
std::size_t edit_distance(std::string_view a, std::string_view b);

/// The known word that is nearest to `word`, else the first that begins with it; empty: none is near.
std::string nearest(std::string_view word, std::span<const std::string> known);

/// "; did you mean --max-tokens?", or nothing.
std::string did_you_mean(std::string_view word, std::span<const std::string> known);

}  // namespace octavo::cli
