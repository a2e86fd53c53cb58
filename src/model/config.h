// What a model is: the hyperparameters of its GGUF file, and one table row per architecture.
//
// A new architecture is a new row (docs/adding_a_model.md). Nothing else in the engine asks for an
// architecture by name.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "gguf/gguf_file.h"

namespace octavo {

enum class RopePairs : std::uint8_t { kNeighbours, kHalves };  // element 2i with 2i + 1, or i with i + head_dim / 2
enum class Activation : std::uint8_t { kSilu, kGeluTanh };
enum class Presence : std::uint8_t { kAbsent, kOptional, kRequired };

/// What sets an architecture apart. Everything not named here is common to all of them: pre-norm transformer
/// layers with RMSNorm, grouped-query attention, rotary positions and a gated feed-forward.
struct ArchitectureInfo {
  std::string_view name;  // general.architecture
  RopePairs rope_pairs;
  Presence qkv_bias;
  Presence qk_norm;       // RMSNorm over each head of Q and K before RoPE
  Presence rope_factors;  // rope_freqs.weight, Llama 3's long-context scaling
  bool post_norms;        // norms after attention and after the feed-forward, before their residual sums
  Activation activation;
  bool scale_embedding;      // embeddings times sqrt(width)
  int global_layer_every;    // 0: no windowed layers; n: layer i looks back without limit iff (i + 1) % n == 0
  double local_rope_base;    // of windowed layers
  double default_rope_base;  // where the file may leave rope.freq_base out; 0: it may not
  int width_scale_layers;    // a model of this many layers scales scores by its width / heads, not head_dim; 0: none
};

/// The row of a supported architecture; nullptr for others.
const ArchitectureInfo* find_architecture(std::string_view name);
/// "llama, qwen2, ...", for error messages.
std::string supported_architectures();

/// Hyperparameters, checked against each other. Sizes are in elements.
struct ModelConfig {
  /// Reads and checks `file`'s metadata. Errors name the key. A file without tensors (vocabulary only) is an error.
  static Result<ModelConfig> load(const GgufFile& file);

  const ArchitectureInfo* arch = nullptr;
  std::string name;    // general.name, or the file's name where it has none
  int vocab_size = 0;  // rows of the embedding
  int num_layers = 0;
  int width = 0;      // embedding_length
  int num_heads = 0;  // of queries
  int num_kv_heads = 0;
  int head_dim = 0;
  int ffn_width = 0;
  int context_length = 0;  // what the model was trained for
  int window = 0;          // tokens a windowed layer sees, the row's own included; 0: the model has none
  float rms_epsilon = 0;
  float attention_scale = 0;   // of scores
  double rope_base = 0;        // of layers that look back without limit
  double rope_base_local = 0;  // of windowed layers
  double rope_scale = 1;       // positions of unlimited layers are divided by this (linear scaling)
  bool tied_output = false;    // the output matrix is the embedding

  /// True if layer `i` sees only the last `window` positions.
  bool is_windowed(int layer) const {
    return arch->global_layer_every != 0 && (layer + 1) % arch->global_layer_every != 0;
  }
  int q_width() const { return num_heads * head_dim; }
  int kv_width() const { return num_kv_heads * head_dim; }
};

}  // namespace octavo
