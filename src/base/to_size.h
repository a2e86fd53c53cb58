// An index or a count as the standard containers want it.
//
// Positions, ids and counts are signed in Octavo, so that a difference of two is what it seems; containers take
// std::size_t. This is the one cast between them, and its argument is never negative.
#pragma once

#include <concepts>
#include <cstddef>

namespace octavo {

constexpr std::size_t to_size(std::integral auto value) { return static_cast<std::size_t>(value); }

}  // namespace octavo
