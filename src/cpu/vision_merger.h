// The end of a vision encoder: tokens are made of the rows of their patches (MergerSpec, and DeepStack's mergers).
//
// VisionParts owns it, with scratch for the tokens of a piece. One thread at a time calls it, inside a pool step.
#pragma once

#include <cstdint>
#include <span>

#include "base/aligned_buffer.h"
#include "cpu/compute_context.h"
#include "cpu/dense_ffn.h"
#include "cpu/residual_stream.h"
#include "cpu/vision_rows.h"
#include "cpu/vision_weights.h"
#include "model/vision_config.h"

namespace octavo {

class VisionMerger {
 public:
  /// The most tokens of a piece.
  static int most_tokens(const VisionConfig& config);
  /// The multiply-adds of a token's vector.
  static std::uint64_t token_work(const VisionConfig& config);

  /// References must outlive it.
  VisionMerger(const VisionConfig& config, const VisionWeights& weights, const KernelTable& kernels, Math math,
               ThreadPool& pool);

  std::uint64_t scratch_bytes() const;

  /// Writes vectors of the tokens in the range to `out`, [tokens, token_floats]: vector 0 is made of the last layer's
  /// rows, the others of rows after the DeepStack layers.
  void merge(VisionRows& rows, int vector, VisionRowRange tokens, std::span<float> out);

 private:
  using Weights = MergerTensors<CpuForm>;

  /// The encoder's norm of one row.
  void norm(const float* x, const Weights& w, std::int64_t size, float* out) const;
  /// Joins the rows of a token's patches, normed, into `joined`, [merged_width].
  void join(VisionRows& rows, std::int64_t token, int worker, float* joined);
  void join_mean(VisionRows& rows, std::int64_t token, int worker, float* mean);
  /// Norms a joined row, or moves and scales it, in place.
  void finish_joined(float* joined) const;
  /// Makes vectors of the results of the product between the first and the last one.
  void finish_between(int count);
  /// Joins and norms the tokens of a piece as the input of the first product.
  void join_tokens(VisionRows& rows, int vector, VisionRowRange tokens);

  const VisionConfig& config_;
  const VisionWeights& weights_;
  ComputeContext context_;
  ResidualStream stream_;  // [tokens, projected width]
  DenseFfn ffn_;
  AlignedBuffer<float> joined_;   // [tokens, merged width]; empty where the stream has the joined rows
  AlignedBuffer<float> patch_;    // [threads, width] one normed patch, where elements are joined
  AlignedBuffer<float> ones_;     // [merged width] the weights of a norm that has none
  AlignedBuffer<float> vectors_;  // [tokens, text_width]
  // Empty where there is no product between the first and the last one.
  AlignedBuffer<float> between_;  // [tokens, hidden width]
  ResidualStream between_stream_;
};

}  // namespace octavo
