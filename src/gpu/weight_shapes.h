// The shapes and types of a model's weights, which is all that planning needs: made of a list before anything is
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
  std::string_view name = {};  // the tensor's name, which the source owns
  DType type = DType::kF32;
  std::int64_t rows = 0, cols = 0;  // outputs, inputs
  bool has_factor = false;          // a factor in a tensor of its own multiplies the products

  /// The bytes of the matrix in panels.
  std::uint64_t bytes() const;
};
inline bool is_present(const MatrixShape& matrix) { return matrix.rows > 0; }

/// The matrices of a layer's experts, all of one shape.
struct ExpertShapes {
  MatrixShape first;
  int count = 0;

  const MatrixShape& of(int /*expert*/) const { return first; }
};

/// The form of a weight tree that has only the shapes of matrices.
struct ShapeForm {
  using Matrix = MatrixShape;
  using Experts = ExpertShapes;
  using Vector = bool;  // whether the vector exists
};
using LayerShape = LayerTensors<ShapeForm>;

struct WeightShapes {
  ModelTensors<ShapeForm> tensors;
  std::uint64_t vector_bytes = 0;  // the bytes of all vectors
};
WeightShapes shapes_of(const WeightList& list);

/// The bytes of a layer's matrices, those of all experts included.
std::uint64_t matrix_bytes(const LayerShape& layer);

}  // namespace octavo::gpu
