// Consecutive layers of a model.
#pragma once

#include <limits>

namespace octavo {

/// Layers first .. end; by default all that there are.
struct LayerRange {
  int first = 0, end = std::numeric_limits<int>::max();

  bool contains(int layer) const { return layer >= first && layer < end; }
  bool is_empty() const { return first >= end; }
  int count() const { return end - first; }
  bool operator==(const LayerRange&) const = default;
};

}  // namespace octavo
