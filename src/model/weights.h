// A model's weights: matrices packed, or left in the mapped file (weight_matrix.h), vectors as floats. Owned by the
// model runner, immutable after load(). The names of tensors stand in tensor_names.h.
#pragma once

#include <stop_token>
#include <variant>
#include <vector>

#include "base/aligned_buffer.h"
#include "base/thread_pool.h"
#include "model/config.h"
#include "model/repack.h"
#include "model/weight_matrix.h"
#include "model/weight_need.h"

namespace octavo {

/// Of AttentionSpec. Vectors are nullptr where a model has none; k and v have no rows where a layer borrows, v where it
/// is k.
struct AttentionWeights {
  WeightMatrix q, k, v;           // [q_width | kv_width, width]
  const float* q_bias = nullptr;  // [q_rows]
  const float* k_bias = nullptr;  // [kv_width]
  const float* v_bias = nullptr;  // [kv_width]
  const float* q_norm = nullptr;  // [head_dim]
  const float* k_norm = nullptr;  // [head_dim]
  const float* sinks = nullptr;   // [num_heads]
  WeightMatrix o;                 // [width, q_width]
  const float* o_bias = nullptr;  // [width]
};

/// Of DeltaSpec.
struct DeltaWeights {
  WeightMatrix qkv;                    // [num_channels, width]
  WeightMatrix gate;                   // [value_width, width]
  WeightMatrix decay, beta;            // [num_value_heads, width]
  const float* taps = nullptr;         // [taps][num_channels], the last one of the token itself
  const float* decay_bias = nullptr;   // [num_value_heads]
  const float* decay_scale = nullptr;  // [num_value_heads], below 0
  const float* norm = nullptr;         // [value_dim]
  WeightMatrix output;                 // [width, value_width]
};

/// Of DenseFfnSpec.
struct DenseFfnWeights {
  WeightMatrix gate, up;                                 // [ffn width, width]
  WeightMatrix down;                                     // [width, ffn width]
  const float *gate_bias = nullptr, *up_bias = nullptr;  // [ffn width]; nullptr: none
  const float* down_bias = nullptr;                      // [width]
};

/// Of ExpertsFfnSpec.
struct ExpertsFfnWeights {
  WeightMatrix router;                   // [num_experts, width]
  ExpertMatrices gate, up;               // [num_experts][expert width, width]
  ExpertMatrices down;                   // [num_experts][width, expert width]
  int num_chosen = 0;                    // experts that a row meets
  const float* router_bias = nullptr;    // [num_experts], added to scores; nullptr: none
  const float* result_scales = nullptr;  // [num_experts]; nullptr: 1
  DenseFfnWeights shared;                // the expert for every row; no rows: none
  WeightMatrix shared_gate;              // [1, width]; no rows: 1

  // [width]; nullptr: all parts read the row in the form that the layer's norm gives it, and results are added as they
  // are.
  const float* router_norm = nullptr;   // times width^-0.5
  const float* experts_norm = nullptr;  // of the experts' input
  const float* post_experts_norm = nullptr;
  const float* post_shared_norm = nullptr;

  bool has_shared() const { return shared.gate.rows > 0; }
  float result_scale_of(int expert) const { return result_scales == nullptr ? 1 : result_scales[expert]; }

  /// One expert's, as they are read.
  std::uint64_t bytes_of_one() const { return gate.bytes_of_one() + up.bytes_of_one() + down.bytes_of_one(); }
};

/// What a layer does with its own embedding of a token; without rows where a model has none.
struct PerLayerWeights {
  WeightMatrix gate;                 // [per_layer_width, width]
  WeightMatrix up;                   // [width, per_layer_width]
  const float* post_norm = nullptr;  // [width]
};

/// The embeddings that tokens have for each layer (per_layer_embedding.h); without rows where a model has none.
struct PerLayerTables {
  WeightMatrix table;           // [vocab_size, num_layers per_layer_width]
  WeightMatrix projection;      // [num_layers per_layer_width, width]
  const float* norm = nullptr;  // [per_layer_width]
};

/// Of LayerSpec. Norms are [width]; nullptr: none.
struct LayerWeights {
  const float* mixer_norm = nullptr;
  std::variant<AttentionWeights, DeltaWeights> mixer;
  const float* post_mixer_norm = nullptr;
  const float* ffn_norm = nullptr;
  std::variant<DenseFfnWeights, ExpertsFfnWeights> feed_forward;
  const float* post_ffn_norm = nullptr;
  PerLayerWeights per_layer = {};
  const float* output_scale = nullptr;  // [1]; nullptr: 1
};

struct LoadManner {
  MatrixTypes types = {};      // that matrices become as they are packed; a weight that cannot is an error
  bool beside_others = false;  // who compute on the pool: see RepackManner
  std::stop_token stop = {};   // loading ends with an error once it is asked for
};

class Weights {
 public:
  /// Checks every tensor's presence and shape; then packs the matrices on all threads, or leaves them in the file,
  /// which must then outlive the result. Errors name the tensor: missing, of a wrong shape, or not part of the
  /// architecture; or the file has become shorter than it was.
  static Result<Weights> load(const ModelSource& source, const ModelConfig& config, bool repack, ThreadPool& pool,
                              const RepackProgress& progress, const LoadManner& manner = {});

  WeightMatrix embedding;               // [vocab_size, width]
  WeightMatrix output;                  // [vocab_size, width]; the embedding itself when tied
  const float* output_norm = nullptr;   // [width]
  const float* output_bias = nullptr;   // [vocab_size]; nullptr: none
  const float* rope_factors = nullptr;  // [num_rotated / 2]: frequencies are divided by these; nullptr: none
  PerLayerTables per_layer;
  std::vector<LayerWeights> layers;

  /// Bytes of all weights, and of those that one token alone reads (one row of an embedding).
  std::uint64_t total_bytes() const { return matrices_.size() + mapped_bytes_ + vectors_.size_bytes(); }
  std::uint64_t bytes_per_token() const;
  /// Of the total: those that lie in the mapped file.
  std::uint64_t mapped_bytes() const { return mapped_bytes_; }

  /// Of the file's head and of all bytes of all tensors. Of matrices that stay in the file only the first bytes of each
  /// were read, so the file's size and the time of its last change stand for the rest.
  const ContentHash& content_hash() const { return content_hash_; }

  /// The scratch that threads need to read the matrices.
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
