// Converts an index or a count to the type that the standard containers take.
//
// Positions, ids and counts are signed in Octavo, so that the difference of two may be negative; containers take
// std::size_t. to_size() is the one cast between them, and its argument is never negative.
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
