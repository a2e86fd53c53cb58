// Structs of the C interface, whose first field is their size: they grow at their end.
//
// Free functions; any thread.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>

namespace octavo::capi {

/// Whether a struct's size may be that of some version: it has a field behind the size, and is no larger than structs
/// grow.
template <class T>
bool has_size(const T& given) noexcept {
  constexpr std::size_t kMost = 4096;
  return given.size > sizeof(given.size) && given.size <= kMost;
}

/// A caller's struct, with 0 in the fields that it has no room for. `given` may be null: all fields are 0 then.
template <class T>
T read_sized(const T* given) noexcept {
  T read = {};
  if (given != nullptr) std::memcpy(&read, given, std::min(given->size, sizeof(T)));
  read.size = sizeof(T);
  return read;
}

/// Fills in the fields that a caller's struct has room for; its size stays.
template <class T>
void fill(T& caller, T told) noexcept {
  told.size = caller.size;
  std::memcpy(&caller, &told, std::min(caller.size, sizeof(T)));
}

}  // namespace octavo::capi
