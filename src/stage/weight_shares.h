// Which of a model's weights a stage on another device has, and which stay with the processor.
//
// Pure values, made of a list.
#pragma once

#include <vector>

#include "kv/layer_range.h"
#include "model/weight_list.h"

namespace octavo {

struct WeightShare {
  bool is_here = false;   // the processor reads it
  bool is_there = false;  // whether the stage reads it
};

/// Where each weight is needed. A matrix or a vector that both read is in both places: an output matrix that is also
/// the embedding, or divisors of the rotary frequencies.
class WeightShares {
 public:
  /// All weights stay with the processor.
  explicit WeightShares(const WeightList& list);
  /// The stage has these layers of the model and, with `output`, the output matrix.
  WeightShares(const WeightList& list, LayerRange layers, bool output);

  WeightShare matrix(std::size_t index) const { return matrices_[index]; }
  WeightShare vector(std::size_t index) const { return vectors_[index]; }

 private:
  struct Marker;

  std::vector<WeightShare> matrices_, vectors_;  // [entries of the list]
};

}  // namespace octavo
