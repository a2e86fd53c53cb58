// Finds and checks the tensors of a model, and makes entries of a WeightList of them.
//
// A WeightList's maker derives from it, and knows which tensors the parts of a model have.
#pragma once

#include <set>
#include <string>
#include <string_view>

#include "model/weight_list.h"

namespace octavo {

class TensorLister {
 protected:
  /// References must outlive it.
  TensorLister(const ModelSource& source, const ModelConfig& config, const MatrixTypes& types, WeightList& list)
      : source_(source), config_(config), list_(list), types_(types) {}

  Result<const SourceTensor*> find(const std::string& name, std::int64_t rows, std::int64_t cols, Presence presence);
  /// The type that it has in memory.
  DType type_of(const SourceTensor& tensor) const;
  WeightIndex add(const ListedMatrix& matrix);
  /// `has_factor`: a number beside it multiplies its products; otherwise only one beside NVFP4 does.
  Result<void> matrix(const std::string& name, std::int64_t rows, std::int64_t cols, WeightIndex& target,
                      bool has_factor = true);
  /// A matrix without a look for a factor beside it.
  Result<void> plain_matrix(const std::string& name, std::int64_t rows, std::int64_t cols, WeightIndex& target);
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
  Result<void> check_all_used() const;

  const ModelSource& source_;
  const ModelConfig& config_;
  WeightList& list_;

 private:
  const MatrixTypes& types_;
  std::set<std::string_view> used_;
};

/// The name of a tensor without what stands behind its last dot.
inline std::string stem_of(const std::string& name) { return name.substr(0, name.rfind('.')); }

}  // namespace octavo
