// How the tensors of a file become entries of a list, by name and shape: what every part of a model's list is made
// with.
#pragma once

#include <initializer_list>
#include <set>
#include <string>
#include <string_view>

#include "model/config.h"
#include "model/matrix_types.h"
#include "model/weight_list.h"
#include "source/model_source.h"

namespace octavo {

/// The name of a tensor up to its suffix.
inline std::string stem_of(const std::string& name) { return name.substr(0, name.rfind('.')); }

/// Adds entries to a list. Errors name the tensor.
class TensorLister {
 protected:
  /// References must outlive it.
  TensorLister(const ModelSource& source, const ModelConfig& config, const MatrixTypes& types, WeightList& list)
      : source_(source), config_(config), types_(types), list_(list) {}

  Result<const SourceTensor*> find(const std::string& name, std::int64_t rows, std::int64_t cols, Presence presence);
  /// The type that it has in memory.
  DType type_of(const SourceTensor& tensor) const;
  WeightIndex add(const ListedMatrix& matrix);
  /// `has_factor`: a number beside it multiplies its products; otherwise only one beside NVFP4 does.
  Result<void> matrix(const std::string& name, std::int64_t rows, std::int64_t cols, WeightIndex& target,
                      bool has_factor = true);
  /// A matrix without a look for a factor beside it.
  Result<void> plain_matrix(const std::string& name, std::int64_t rows, std::int64_t cols, WeightIndex& target);
  /// Matrices whose rows lie below each other in one tensor; its factor is that of each.
  struct Part {
    std::int64_t rows;
    WeightIndex* target;
  };
  Result<void> parts(const std::string& name, std::initializer_list<Part> all, bool has_factor = true);
  /// A tensor of `count` matrices, which are `what`.
  Result<const SourceTensor*> find_several(const std::string& name, int count, std::string_view what, std::int64_t rows,
                                           std::int64_t cols);
  /// A matrix for each head.
  Result<void> of_heads(const std::string& name, int num_heads, std::int64_t rows, std::int64_t cols,
                        ExpertsIndex& target);
  Result<void> scale(const std::string& weights, int count, WeightIndex matrix, bool is_factor = true);
  Result<void> vector(const std::string& name, std::int64_t size, Presence presence, WeightIndex& target) {
    return vectors(name, 1, size, presence, target);
  }
  /// [count][size]
  Result<void> vectors(const std::string& name, std::int64_t count, std::int64_t size, Presence presence,
                       WeightIndex& target);
  /// A small matrix as floats, transposed: [cols][rows].
  Result<void> transposed(const std::string& name, std::int64_t rows, std::int64_t cols, WeightIndex& target);
  /// A bias that is added before the products are multiplied by the factor of their matrix.
  Result<void> scaled_bias(const std::string& name, WeightIndex matrix, Presence presence, WeightIndex& target);
  /// Error: the file has a tensor that nobody has found.
  Result<void> check_all_used() const;

  const ModelSource& source_;
  const ModelConfig& config_;
  const MatrixTypes& types_;
  WeightList& list_;

 private:
  std::set<std::string_view> used_;
};

}  // namespace octavo
