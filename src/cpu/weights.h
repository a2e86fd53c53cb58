// A model's weights: matrices packed, or left in the mapped file (weight_matrix.h), vectors as floats. Owned by the
// model runner, immutable after load(). The names of tensors stand in tensor_names.h.
#pragma once

#include <span>
#include <stop_token>
#include <vector>

#include "base/aligned_buffer.h"
#include "base/thread_pool.h"
#include "cpu/repack.h"
#include "cpu/weight_matrix.h"
#include "model/content_hash.h"
#include "model/weight_list.h"
#include "stage/stage.h"

namespace octavo {

/// The form of a weight tree that the processor computes with. Absent vectors are null, absent matrices have no rows.
struct CpuForm {
  using Matrix = WeightMatrix;
  using Experts = ExpertMatrices;
  using Vector = const float*;
};

using AttentionWeights = AttentionTensors<CpuForm>;
using DeltaWeights = DeltaTensors<CpuForm>;
using ShortConvWeights = ShortConvTensors<CpuForm>;
using MambaWeights = MambaTensors<CpuForm>;
using DenseFfnWeights = DenseFfnTensors<CpuForm>;
using ExpertsFfnWeights = ExpertsFfnTensors<CpuForm>;
using PerLayerWeights = PerLayerTensors<CpuForm>;
using PerLayerTables = PerLayerTableTensors<CpuForm>;
using LayerWeights = LayerTensors<CpuForm>;

inline float result_scale_of(const ExpertsFfnWeights& w, int expert) {
  return w.result_scales == nullptr ? 1 : w.result_scales[expert];
}
/// Bytes of one expert, as they are read.
inline std::uint64_t bytes_of_one(const ExpertsFfnWeights& w) {
  return w.gate.bytes_of_one() + w.up.bytes_of_one() + w.down.bytes_of_one();
}

struct LoadManner {
  bool repack = true;          // else matrices stay in the mapped file, which must then outlive them
  bool beside_others = false;  // who compute on the pool: see RepackManner
  std::stop_token stop = {};   // loading ends with an error once it is asked for
};

class Weights : public ModelTensors<CpuForm> {
 public:
  /// Loads what is listed: packs the matrices on all threads, or leaves them in the file. Those of `elsewhere`, if
  /// there is such a stage, go there, and are absent here. Errors: a weight that cannot become the type of its matrix;
  /// the file has become shorter than it was; or the stage's device has failed.
  static Result<Weights> load(const ModelSource& source, const WeightList& list, const KernelTable& kernels,
                              ThreadPool& pool, const RepackProgress& progress, const LoadManner& manner = {},
                              StageLoad* elsewhere = nullptr);

  /// Bytes of all weights that are here.
  std::uint64_t total_bytes() const { return matrices_.size() + mapped_bytes_ + vectors_.size_bytes(); }
  /// The part of the total that lies in the mapped file.
  std::uint64_t mapped_bytes() const { return mapped_bytes_; }

  /// A hash of all listed tensors, wherever they lie: of matrices that stay in the file, by samples.
  const WeightsHash& content_hash() const { return content_hash_; }

  /// The scratch that threads need to read the matrices.
  PanelScratch make_scratch(int num_threads) const;

 private:
  /// The source of what is loaded, and the place where it goes.
  struct Load;

  // Each gives a hash of what it loads.
  Result<ContentHash> load_vectors(const Load& load, const std::stop_token& stop, std::vector<const float*>& loaded);
  Result<ContentHash> pack_matrices(const Load& load, ThreadPool& pool, const RepackProgress& progress,
                                    const LoadManner& manner, std::vector<WeightMatrix>& loaded);
  Result<ContentHash> map_matrices(const Load& load, const std::stop_token& stop, std::vector<WeightMatrix>& loaded);
  /// Packs matrices that lie in the file by columns, also where others are mapped, into room that is there.
  Result<ContentHash> pack_transposed(const Load& load, ThreadPool& pool, const std::stop_token& stop,
                                      const std::vector<WeightMatrix>& loaded);

  AlignedBuffer<std::uint8_t> matrices_;  // panels
  std::uint64_t mapped_bytes_ = 0;
  std::size_t largest_panel_bytes_ = 0;
  AlignedBuffer<float> vectors_;
  WeightsHash content_hash_;
};

}  // namespace octavo
