// Suggests words that a user may have meant in place of an unknown one.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace octavo::cli {

/// The number of letters to insert, drop, change or swap with their neighbour to turn `a` into `b` (optimal string
/// alignment), ignoring case.
std::size_t edit_distance(std::string_view a, std::string_view b);

/// The known word that is most similar to `word`, else the first that begins with it; empty: none is similar.
std::string nearest(std::string_view word, std::span<const std::string> known);

/// A text such as "; did you mean --max-tokens?", or an empty one.
std::string did_you_mean(std::string_view word, std::span<const std::string> known);

}  // namespace octavo::cli
