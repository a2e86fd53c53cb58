// The joining of rows in the middle of a vision encoder: those of four patches become one (RowJoinSpec).
//
// VisionParts owns it, with scratch for the rows of a piece. One thread at a time calls it, inside a pool step.
#pragma once

#include <cstdint>

#include "base/aligned_buffer.h"
#include "cpu/compute_context.h"
#include "cpu/dense_ffn.h"
#include "cpu/residual_stream.h"
#include "cpu/vision_rows.h"
#include "cpu/vision_weights.h"
#include "model/vision_config.h"

namespace octavo {

class VisionRowJoin {
 public:
  static constexpr int kMostRows = 128;  // joined ones, of a piece

  /// The multiply-adds of a joined row.
  static std::uint64_t row_work(const VisionConfig& config);

  /// References must outlive it.
  VisionRowJoin(const VisionConfig& config, const VisionWeights& weights, const KernelTable& kernels, Math math,
                ThreadPool& pool);

  std::uint64_t scratch_bytes() const;

  /// Writes the joined rows of the range in the places of the picture's first ones. Ranges come in order, so that no
  /// row is overwritten that is still to be read.
  void join(VisionRows& rows, VisionRowRange joined);

 private:
  const VisionConfig& config_;
  const VisionWeights& weights_;
  ComputeContext context_;
  ResidualStream stream_;  // [joined rows, 4 x width]
  DenseFfn ffn_;
  AlignedBuffer<float> means_;    // [joined rows, width]
  AlignedBuffer<float> results_;  // [joined rows, width]
};

}  // namespace octavo
