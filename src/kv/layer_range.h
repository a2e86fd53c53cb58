// Consecutive layers of a model.
#pragma once

#include <algorithm>
#include <cstddef>
#include <limits>
#include <span>

namespace octavo {

/// Layers first .. end; by default all that there are.
struct LayerRange {
  int first = 0, end = std::numeric_limits<int>::max();

  bool contains(int layer) const { return layer >= first && layer < end; }
  bool is_empty() const { return first >= end; }
  int count() const { return end - first; }
  /// Those of `all`, one a layer of the model, that are of these layers.
  template <class T>
  std::span<const T> within(std::span<const T> all) const {
    const auto size = static_cast<std::ptrdiff_t>(all.size());
    const auto begin = std::min<std::ptrdiff_t>(first, size);
    return {all.begin() + begin, all.begin() + std::clamp<std::ptrdiff_t>(end, begin, size)};
  }
  bool operator==(const LayerRange&) const = default;
};

}  // namespace octavo
