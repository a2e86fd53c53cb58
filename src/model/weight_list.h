// The list of a model's weights: which tensors of a source it needs, by their use, each checked, before any byte is
// read.
//
// Made once from a source and the specs of the layers. A device loads what is listed, in the order of the list, in a
// form of its own (cpu/weights.h); work and memory are counted from it. Immutable; entries point into the source, which
// must outlive them. The names of tensors stand in source/tensor_names.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/to_size.h"
#include "kernels/packed_layout.h"
#include "model/config.h"
#include "model/matrix_types.h"
#include "model/weight_tree.h"
#include "source/model_source.h"

namespace octavo {

/// Stands for an entry of a WeightList, or for none.
struct WeightIndex {
  int value = -1;
};
inline bool is_present(WeightIndex index) { return index.value >= 0; }

/// Stands for the matrices of all experts, which are one entry.
struct ExpertsIndex {
  WeightIndex index;

  WeightIndex of(int /*expert*/) const { return index; }
};

/// The form of a weight tree whose tensors are entries of a list: ListedMatrix, ListedMatrix, ListedVector.
struct ListedForm {
  using Matrix = WeightIndex;
  using Experts = ExpertsIndex;
  using Vector = WeightIndex;
};

/// A matrix, or several of one shape that lie one behind another in a tensor.
struct ListedMatrix {
  const SourceTensor* source = nullptr;
  DType type = DType::kF32;         // in memory
  std::int64_t rows = 0, cols = 0;  // of each
  int count = 1;                    // experts
  std::int64_t first_row = 0;       // of the tensor's
  std::int64_t row_step = 0;        // from one to the next in the tensor; 0: as many as each has
  bool is_transposed = false;       // each lies in the tensor by columns: `cols` rows there, of `rows` weights
  WeightIndex scale = {};           // [count] a factor of all weights of each, or of its products; none: 1
  WeightIndex bias = {};            // [count][rows] of experts, added to products; may be absent

  std::int64_t row_of(int number) const { return first_row + number * (row_step == 0 ? file_rows() : row_step); }
  std::size_t file_bytes() const { return to_size(count * file_rows()) * source->tensor.row_bytes(); }
  /// Rows of the tensor that each has.
  std::int64_t file_rows() const { return is_transposed ? cols : rows; }
  /// Its products read activations in int8.
  bool is_quantized() const { return !is_plain_float(type); }
  /// The bytes of one of them as files have them.
  std::uint64_t bytes_of_one() const { return *dtype_bytes(type, static_cast<std::uint64_t>(rows * cols)); }
};

/// A vector, or a small matrix, that is kept as floats.
struct ListedVector {
  const SourceTensor* source = nullptr;
  bool transposed = false;           // rows become columns
  float factor = 1;                  // by which it is multiplied
  WeightIndex scale = {};            // a vector whose first number it is multiplied by, listed before it; none: 1
  std::int64_t first = 0, size = 0;  // the part of the tensor; size 0: all of it

  std::size_t num_in_file() const { return to_size(source->tensor.rows * source->tensor.cols); }
  std::size_t num_floats() const { return size == 0 ? num_in_file() : to_size(size); }
};

struct WeightList {
  /// Errors name the tensor: missing, of a wrong shape, or not part of the architecture. `types`: of matrices that have
  /// another type in memory than in the file.
  static Result<WeightList> create(const ModelSource& source, const ModelConfig& config, const MatrixTypes& types = {});

  const ListedMatrix& matrix(WeightIndex index) const { return matrices[to_size(index.value)]; }
  const ListedVector& vector(WeightIndex index) const { return vectors[to_size(index.value)]; }

  std::vector<ListedMatrix> matrices;  // in the order in which they are loaded
  std::vector<ListedVector> vectors;   // the same
  ModelTensors<ListedForm> tensors;
  MatrixTypes types;  // the types that were given
};

}  // namespace octavo
