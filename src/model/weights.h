// A model's weights: matrices packed, or left in the mapped file (weight_matrix.h), vectors as floats. Owned by the
// model runner, immutable after load(). Tensor names: gguf's naming (docs/adding_a_model.md).
#pragma once

#include <vector>

#include "base/aligned_buffer.h"
#include "base/thread_pool.h"
#include "model/config.h"
#include "model/repack.h"
#include "model/weight_matrix.h"

namespace octavo {

/// One transformer layer. Vectors are nullptr where the architecture has none.
struct LayerWeights {
  const float* attn_norm = nullptr;       // [width]
  WeightMatrix q, k, v;                   // [q_width | kv_width, width]
  const float* q_bias = nullptr;          // [q_width]
  const float* k_bias = nullptr;          // [kv_width]
  const float* v_bias = nullptr;          // [kv_width]
  const float* q_norm = nullptr;          // [head_dim]
  const float* k_norm = nullptr;          // [head_dim]
  WeightMatrix o;                         // [width, q_width]
  const float* post_attn_norm = nullptr;  // [width]
  const float* ffn_norm = nullptr;        // [width]
  WeightMatrix gate, up;                  // [ffn_width, width]
  WeightMatrix down;                      // [width, ffn_width]
  const float* post_ffn_norm = nullptr;   // [width]
};

/// Memory that a model's weights take, in bytes; vectors are kept as floats.
struct WeightNeed {
  std::uint64_t packed_bytes = 0;  // matrices in panels
  std::uint64_t mapped_bytes = 0;  // the same matrices left in the file
  std::uint64_t vector_bytes = 0;
};
WeightNeed weight_need(const GgufFile& file);

class Weights {
 public:
  /// Checks every tensor's presence and shape; then packs the matrices on all threads, or leaves them in the file,
  /// which must then outlive the result. Errors name the tensor: missing, of a wrong shape, or not part of the
  /// architecture; or the file has become shorter than it was.
  static Result<Weights> load(const GgufFile& file, const ModelConfig& config, bool repack, ThreadPool& pool,
                              const RepackProgress& progress);

  WeightMatrix embedding;               // [vocab_size, width]
  WeightMatrix output;                  // [vocab_size, width]; the embedding itself when tied
  const float* output_norm = nullptr;   // [width]
  const float* rope_factors = nullptr;  // [head_dim / 2]: frequencies are divided by these; nullptr: none
  std::vector<LayerWeights> layers;

  /// Bytes of all weights, and of those that one token alone reads (one row of the embedding).
  std::uint64_t total_bytes() const { return matrices_.size() + mapped_bytes_ + vectors_.size_bytes(); }
  std::uint64_t bytes_per_token() const;
  /// Of the total: those that lie in the mapped file.
  std::uint64_t mapped_bytes() const { return mapped_bytes_; }

  /// Of the file's head and of all bytes of all tensors. Of matrices that stay in the file only the first bytes of each
  /// were read, so the file's size and the time of its last change stand for the rest.
  const ContentHash& content_hash() const { return content_hash_; }

  /// What threads need to read the matrices.
  PanelScratch make_scratch(int num_threads) const;

 private:
  friend class WeightLoader;
  AlignedBuffer<std::uint8_t> matrices_;  // panels
  std::uint64_t mapped_bytes_ = 0;
  std::size_t largest_panel_bytes_ = 0;
  AlignedBuffer<float> vectors_;
  ContentHash content_hash_;
};

}  // namespace octavo
