// The shapes and types of a model's weights, which are all that planning wants: made of a list, before anything is
// loaded.
//
// Pure functions and values.
#pragma once

#include <cstdint>
#include <string_view>

#include "kernels/packed_layout.h"
#include "model/weight_list.h"
#include "model/weight_tree.h"

namespace octavo::gpu {

struct MatrixShape {
  std::string_view name = {};  // of its tensor, which the source keeps
  DType type = DType::kF32;
  std::int64_t rows = 0, cols = 0;  // outputs, inputs
  bool has_factor = false;          // a number beside it multiplies it

  /// Bytes of its panels.
  std::uint64_t bytes() const;
};
inline bool is_present(const MatrixShape& matrix) { return matrix.rows > 0; }

/// The matrices of a layer's experts, all of one shape.
struct ExpertShapes {
  MatrixShape first;
  int count = 0;

  const MatrixShape& of(int /*expert*/) const { return first; }
};

/// The form of a weight tree that knows the shapes of matrices alone.
struct ShapeForm {
  using Matrix = MatrixShape;
  using Experts = ExpertShapes;
  using Vector = bool;  // whether it is there
};
using LayerShape = LayerTensors<ShapeForm>;

struct WeightShapes {
  ModelTensors<ShapeForm> tensors;
  std::uint64_t vector_bytes = 0;  // of all vectors
};
WeightShapes shapes_of(const WeightList& list);

/// Bytes of a layer's matrices, those of all experts included.
std::uint64_t matrix_bytes(const LayerShape& layer);

}  // namespace octavo::gpu
