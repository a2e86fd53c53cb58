// The report of `octavo info` on a file: counted from the tensor directory and the metadata; no weight is read.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "gpu/fit_on_card.h"
#include "model/config.h"
#include "model/model_part.h"
#include "octavo/engine.h"
#include "source/model_source.h"

namespace octavo::cli {

/// Layers with equal heads.
struct HeadShape {
  int num_heads = 0, num_kv_heads = 0, head_dim = 0, v_dim = 0;
  int num_layers = 0;
};

/// The layers of a model in short: each size is the largest of them.
struct LayerShapes {
  int num_experts = 0, num_chosen = 0;  // of layers that are mixtures, whose width is an expert's; 0: none is
  int shared_width = 0;                 // of the expert that computes every row; 0: none does
  int ffn_width = 0, num_heads = 0, num_kv_heads = 0, head_dim = 0;
  int window = 0;                         // of the layers that have one; 0: none has
  bool is_chunked = false;                // they see chunks of so many tokens
  int num_without_window = 0;             // layers that look back all the way
  int num_without_rope = 0;               // layers that attend whatever the distance
  std::vector<HeadShape> heads = {};      // of layers that attend, in their order
  std::optional<LatentSpec> latent = {};  // of the first layer whose heads share one
  int num_borrowing = 0;                  // layers that read the keys and values of an earlier one
  int num_recurrent = 0;                  // layers that keep a state in place of keys and values
  int num_without_mixer = 0;              // layers that neither attend nor keep a state
  int num_without_ffn = 0;                // layers that have no feed-forward
  std::optional<DeltaSpec> delta = {};    // of the first of these
  std::optional<MambaSpec> mamba = {};    // likewise
  int convolution_taps = 0;  // of layers whose state is that of a short convolution alone; 0: there is none
};
LayerShapes shapes_of_layers(const ModelConfig& config);
/// Weights of the experts that a token does not choose.
std::uint64_t weights_of_idle_experts(const ModelConfig& config);

/// Some tensors together.
struct WeightSum {
  std::string part;  // empty in the list by type
  DType type = DType::kF32;
  int num_tensors = 0;
  std::uint64_t num_weights = 0;
  std::uint64_t bytes = 0;
};

struct VocabularyInfo {
  std::string model, pretokenizer;  // tokenizer.ggml.model and .pre; empty where the file has none
  std::vector<EndToken> end_tokens = {};
  std::string reasoning = {};    // the family whose marks are around reasoning; empty: none
  std::string tool_format = {};  // the way in which answers call tools; empty: there is no chat template
  bool describes_tools = false;  // in the system message: the chat template has no place for them
  std::uint64_t num_tokens = 0;
};

/// Memory at a context, in bytes.
struct MemoryNeed {
  int context = 0;
  KvType kv_type = kDefaultKvType;
  std::string quantized = {};               // the type that weights become while loading; empty: their own
  std::uint64_t weight_bytes = 0;           // repacked
  std::uint64_t unmapped_weight_bytes = 0;  // with --no-repack: beside the file's pages
  std::uint64_t mapped_weight_bytes = 0;    // with --no-repack: of the file's pages, which processes share
  std::uint64_t kv_bytes_per_token = 0;
  std::uint64_t kv_bytes = 0;  // of one sequence as long as the context, in whole blocks; windowed layers keep their
                               // window and a step; and of its recurrent state
  std::uint64_t recurrent_bytes = 0;  // of these: the recurrent state
};

/// The largest context of one sequence with a type of KV cache, at most what the model was trained for.
struct ContextFit {
  KvType kv_type;
  int tokens;
};

/// The memory of the machine, or of the container, that is free now, and the context that fits it.
struct MemoryHere {
  std::uint64_t available_bytes = 0;
  std::uint64_t kv_bytes = 0;         // the KV cache's unless told: half of what weights and scratch memory leave
  int context = 0;                    // the largest that fits that, with the type of KV cache asked for
  std::vector<ContextFit> fits = {};  // of every type
};

struct InfoReport {
  std::string path, format, architecture, name;
  std::uint64_t file_bytes = 0;  // of all files
  std::size_t num_files = 1;
  std::uint32_t version = 0;  // of the format
  std::size_t num_metadata = 0;
  VocabularyInfo vocabulary;
  std::vector<std::pair<std::string, std::string>> sampling;  // settings that the model asks for
  std::optional<ModelConfig> config;                          // absent for a vocabulary-only file; with its draft head
  bool is_head_alone = false;      // the file has the head of a model and none of its other layers
  std::string draft_head_fault;    // why that is left out; empty: it is not, or there is none
  std::vector<WeightSum> by_type;  // most bytes first
  std::vector<WeightSum> by_part;  // by part, then most bytes first
  std::uint64_t num_weights = 0;
  std::uint64_t weight_bytes = 0;
  std::optional<MemoryNeed> memory;
  std::optional<MemoryHere> here;
  std::optional<gpu::CardFit> card;  // with the context of `memory`; absent: not asked for, or there is none

  /// The file holds no model of its own.
  bool drafts_only() const { return config && (config->is_assistant() || is_head_alone); }
};

struct InfoOptions {
  int context = 0;  // 0: what the model was trained for
  KvType kv_type = kDefaultKvType;
  int block_size = 16;
  std::string generation_config = {};  // the text of a generation_config.json, beside the file; empty: none
  std::string quantize = {};           // the type that weights become while loading; empty: their own
  Device device = Device::kCpu;        // the card too is looked at, where it is not this one; kCuda: there must be one
  int gpu_layers = -1;                 // at most so many layers there, as EngineOptions have it
  std::optional<std::uint64_t> available_bytes = {};  // none: ask the system
};

/// Errors: a file with tensors whose architecture or metadata is not supported, or that cannot be quantized; no card
/// where there must be one.
Result<InfoReport> make_info_report(const ModelSource& source, const InfoOptions& options);

}  // namespace octavo::cli
