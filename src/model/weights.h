// A model's weights in the form the kernels read: matrices packed, vectors as floats. Owned by the model runner,
// immutable after load(). Tensor names: gguf's naming (docs/adding_a_model.md).
#pragma once

#include <functional>
#include <vector>

#include "base/aligned_buffer.h"
#include "base/thread_pool.h"
#include "kernels/kernels.h"
#include "model/config.h"

namespace octavo {

/// One transformer layer. Vectors are nullptr where the architecture has none.
struct LayerWeights {
  const float* attn_norm = nullptr;       // [width]
  PackedMatrix q, k, v;                   // [q_width | kv_width, width]
  const float* q_bias = nullptr;          // [q_width]
  const float* k_bias = nullptr;          // [kv_width]
  const float* v_bias = nullptr;          // [kv_width]
  const float* q_norm = nullptr;          // [head_dim]
  const float* k_norm = nullptr;          // [head_dim]
  PackedMatrix o;                         // [width, q_width]
  const float* post_attn_norm = nullptr;  // [width]
  const float* ffn_norm = nullptr;        // [width]
  PackedMatrix gate, up;                  // [ffn_width, width]
  PackedMatrix down;                      // [width, ffn_width]
  const float* post_ffn_norm = nullptr;   // [width]
};

class Weights {
 public:
  using Progress = std::function<void(std::uint64_t done_bytes, std::uint64_t total_bytes)>;

  /// Checks every tensor's presence and shape, packs the matrices on all threads and gives the file's pages back.
  /// Errors name the tensor: missing, of a wrong shape, or not part of the architecture.
  static Result<Weights> load(const GgufFile& file, const ModelConfig& config, ThreadPool& pool,
                              const Progress& progress);

  PackedMatrix embedding;               // [vocab_size, width]
  PackedMatrix output;                  // [vocab_size, width]; the embedding itself when tied
  const float* output_norm = nullptr;   // [width]
  const float* rope_factors = nullptr;  // [head_dim / 2]: frequencies are divided by these; nullptr: none
  std::vector<LayerWeights> layers;

  /// Bytes of all weights, and of those that one token alone reads (one row of the embedding).
  std::uint64_t total_bytes() const { return matrices_.size() + vectors_.size_bytes(); }
  std::uint64_t bytes_per_token() const;

 private:
  friend class WeightLoader;
  AlignedBuffer<std::uint8_t> matrices_;
  AlignedBuffer<float> vectors_;
};

}  // namespace octavo
