// The weights of a vision encoder: matrices packed, vectors as floats. Owned by its tower, immutable after load().
#pragma once

#include "base/aligned_buffer.h"
#include "cpu/repack.h"
#include "cpu/weights.h"
#include "model/vision_config.h"
#include "model/vision_weight_list.h"

namespace octavo {

class VisionWeights : public VisionTensors<CpuForm> {
 public:
  /// Loads the listed weights. The calling thread must have no step of the pool. Errors: the file has become shorter,
  /// or cannot be read; a stop was asked for.
  static Result<VisionWeights> load(const ModelSource& source, const VisionConfig& config, const VisionWeightList& list,
                                    const KernelTable& kernels, ThreadPool& pool, const RepackProgress& progress,
                                    const LoadManner& manner);

  /// [width, patch_width] in F32; where frames are two equal ones, the sum of both kernels.
  const WeightMatrix& patches() const { return patches_; }
  std::uint64_t total_bytes() const { return matrices_.size_bytes() + vectors_.size_bytes(); }
  /// A hash of all keys and all listed tensors.
  const ContentHash& content_hash() const { return content_hash_; }

 private:
  // Both give a hash of what they load.
  Result<ContentHash> load_vectors(const ModelSource& source, const VisionWeightList& list,
                                   std::vector<const float*>& loaded);
  Result<ContentHash> load_patches(const ModelSource& source, const VisionConfig& config, const VisionWeightList& list,
                                   const KernelTable& kernels, std::uint8_t* panels);

  /// Loads the merger's last matrix where the file has it transposed.
  Result<ContentHash> load_transposed_down(const ModelSource& source, const SourceTensor& tensor,
                                           const KernelTable& kernels, std::uint8_t* panels);

  AlignedBuffer<std::uint8_t> matrices_;  // panels; those of patches() come first
  AlignedBuffer<float> vectors_;
  WeightMatrix patches_;
  ContentHash content_hash_;
};

}  // namespace octavo
