// A range of consecutive layers of a model.
#pragma once

#include <algorithm>
#include <cstddef>
#include <limits>
#include <span>

namespace octavo {

/// The layers first .. end - 1; by default all.
struct LayerRange {
  int first = 0, end = std::numeric_limits<int>::max();

  bool contains(int layer) const { return layer >= first && layer < end; }
  bool is_empty() const { return first >= end; }
  int count() const { return end - first; }
  /// The part of `all`, which has one entry for each layer of the model, that is for these layers.
  template <class T>
  std::span<const T> within(std::span<const T> all) const {
    const auto size = static_cast<std::ptrdiff_t>(all.size());
    const auto begin = std::min<std::ptrdiff_t>(first, size);
    return {all.begin() + begin, all.begin() + std::clamp<std::ptrdiff_t>(end, begin, size)};
  }
  bool operator==(const LayerRange&) const = default;
};

}  // namespace octavo
