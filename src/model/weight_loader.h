// How weights are loaded: a list of all tensors that a model needs, each checked, then their bytes.
//
// Used by Weights::load() alone. weight_loader.cc finds single tensors and loads what is listed, weight_list.cc lists
// the tensors of each part of a model.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/pack.h"
#include "model/weight_need.h"
#include "model/weights.h"

namespace octavo {

/// First lists what the model needs and checks it, so that a wrong file is refused before memory is taken; then loads.
class WeightLoader {
 public:
  /// References must outlive it.
  WeightLoader(const ModelSource& source, const ModelConfig& config, const MatrixTypes& types)
      : source_(source), config_(config), types_(types) {}

  Result<void> list(Weights& w);
  /// Of what is listed.
  WeightNeed need() const;
  // Each gives a hash of what it loads.
  Result<ContentHash> load_vectors(Weights& w, const std::stop_token& stop) const;
  Result<ContentHash> pack_matrices(Weights& w, ThreadPool& pool, const RepackProgress& progress,
                                    const LoadManner& manner) const;
  Result<ContentHash> map_matrices(Weights& w, const std::stop_token& stop) const;

 private:
  struct Matrix {
    const SourceTensor* source;
    WeightMatrix* target;        // the first one
    int count = 1;               // of the same shape, one behind another
    std::int64_t first_row = 0;  // of the tensor's
    std::int64_t row_step = 0;   // from one to the next in the tensor; 0: as many as each has

    std::int64_t row_of(int number) const { return first_row + number * (row_step == 0 ? target->rows : row_step); }
    std::size_t file_bytes() const { return to_size(count * target->rows) * source->tensor.row_bytes(); }
    std::size_t packed_bytes_of_one() const { return packed_bytes(target->type, target->rows, target->cols); }
  };
  struct Vector {
    const SourceTensor* source;
    const float** target;
    bool transposed = false;
    float factor = 1;
    const float* const* scale = nullptr;  // a factor that is loaded before; nullptr, also of what it is in: 1
    std::int64_t first = 0, size = 0;     // the part of the tensor; 0: all of it

    std::size_t num_in_file() const { return to_size(source->tensor.rows * source->tensor.cols); }
    std::size_t num_floats() const { return size == 0 ? num_in_file() : to_size(size); }
  };

  Result<const SourceTensor*> find(const std::string& name, std::int64_t rows, std::int64_t cols, Presence presence);
  /// That it has in memory.
  DType type_of(const SourceTensor& tensor) const;
  /// `has_factor`: a number beside it multiplies its products; otherwise only one beside NVFP4 does.
  Result<void> matrix(const std::string& name, std::int64_t rows, std::int64_t cols, WeightMatrix& target,
                      bool has_factor = true);
  /// The same without a look for a factor beside it.
  Result<void> plain_matrix(const std::string& name, std::int64_t rows, std::int64_t cols, WeightMatrix& target);
  /// Q, K and V of a layer with their biases, in a tensor each, or in one as converters write them when asked to.
  Result<void> qkv(int layer, const AttentionSpec& spec, AttentionWeights& w);
  Result<void> fused_qkv(int layer, const AttentionSpec& spec, AttentionWeights& w);
  Result<void> qkv_biases(int layer, const AttentionSpec& spec, AttentionWeights& w);
  /// `name`: of the weights. A bias has the same stem.
  Result<void> experts(const std::string& name, const ExpertsFfnSpec& spec, std::int64_t rows, std::int64_t cols,
                       ExpertMatrices& target);
  /// Gate and up of all experts, in a tensor each or in one.
  Result<void> gate_and_up(int layer, const ExpertsFfnSpec& spec, ExpertsFfnWeights& w);
  Result<const SourceTensor*> find_experts(const std::string& name, const ExpertsFfnSpec& spec, std::int64_t rows,
                                           std::int64_t cols);
  Result<void> list_shared(int layer, const ExpertsFfnSpec& spec, ExpertsFfnWeights& w);
  Result<void> list_own_norms(int layer, ExpertsFfnWeights& w);
  Result<void> scale(const std::string& weights, int count, WeightMatrix& target, bool is_factor = true);
  Result<void> vector(const std::string& name, std::int64_t size, Presence presence, const float*& target) {
    return vectors(name, 1, size, presence, target);
  }
  /// [count][size]
  Result<void> vectors(const std::string& name, std::int64_t count, std::int64_t size, Presence presence,
                       const float*& target);
  /// A small matrix as floats, transposed: [cols][rows].
  Result<void> transposed(const std::string& name, std::int64_t rows, std::int64_t cols, const float*& target);
  /// A bias that is added before the products are multiplied by the factor of their matrix.
  Result<void> scaled_bias(const std::string& name, const WeightMatrix& matrix, Presence presence,
                           const float*& target);
  Result<void> list_layer(int layer, LayerWeights& w);
  Result<void> list_mixer(int layer, const AttentionSpec& spec, LayerWeights& w);
  Result<void> list_mixer(int layer, const DeltaSpec& spec, LayerWeights& w);
  Result<void> list_feed_forward(int layer, const DenseFfnSpec& spec, LayerWeights& w);
  Result<void> list_feed_forward(int layer, const ExpertsFfnSpec& spec, LayerWeights& w);
  Result<void> list_per_layer(int layer, PerLayerWeights& w);
  Result<void> list_per_layer(PerLayerTables& w);
  Result<void> list_rope_factors(Weights& w);
  Result<void> check_all_used() const;

  const ModelSource& source_;
  const ModelConfig& config_;
  const MatrixTypes& types_;
  std::vector<Matrix> matrices_;
  std::vector<Vector> vectors_;
  std::set<std::string_view> used_;
};

}  // namespace octavo
