// An index or a count as the standard containers want it.
//
// Positions, ids and counts are signed in Octavo, so that a difference of two is what it seems; containers take
// std::size_t. This is the one cast between them, and its argument is never negative.
#pragma once

#include <concepts>
#include <cstddef>
#include <type_traits>

namespace octavo {

template <class T>
  requires std::integral<T> || std::is_enum_v<T>
constexpr std::size_t to_size(T value) {
  return static_cast<std::size_t>(value);
}

}  // namespace octavo
