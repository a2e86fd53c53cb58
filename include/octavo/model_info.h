// The facts about a loaded model: its file, its words, its sizes, and the machine's part in it.
//
// Plain values; any thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "octavo/bits.h"
#include "octavo/embedding.h"
#include "octavo/picture.h"
#include "octavo/token.h"

namespace octavo {

struct ModelWork;

/// A token that ends an answer.
struct EndToken {
  TokenId id = -1;
  std::string text = {};
  std::string source = {};  // the file's key for it, "chat template", or "its text" (a table of known end texts has it)
};

/// The facts about a model's file that lists of models show. Unknown ones are empty or 0.
struct ModelFile {
  std::string format = {};         // "gguf", or "safetensors"
  std::string weight_type = {};    // the mix that the file, or the option `quantize`, names (Q4_K_M); else the type of
                                   // most of its bytes
  std::string vocabulary = {};     // its kind, as GGUF calls it (tokenizer.ggml.model); empty for a folder
  std::uint64_t num_weights = 0;   // the weights of all its tensors
  std::uint64_t weight_bytes = 0;  // the bytes of the weights in the file
  int context_length = 0;          // the context that the model was trained for
  int width = 0;                   // the width of an embedding
};

/// The names by which a model's chat template reads about thinking.
struct ThinkingInfo {
  std::string name = {};  // the name, or the word in a system message, that turns it on and off; empty: there is none
  std::vector<std::string> efforts = {};  // the `reasoning_effort` levels that it takes; empty: it knows none
};

/// The facts about the model that was loaded.
struct ModelInfo {
  std::string name;         // general.name, at most 256 bytes; the file's name where it has none
  std::string file_name;    // without folders
  std::string file_hash;    // 32 hexadecimal digits over all metadata and weights; without repack over metadata, the
                            // file's size and time, and the beginning of each matrix
  std::string fingerprint;  // "fp_" and 16 digits over the build, the C library, the instruction set, file_hash and
                            // kv_type: requests with equal fingerprints and seeds get equal tokens; with portable bits
                            // "fp_portable_" and digits over the sources, file_hash and kv_type
  std::string architecture;
  ModelFile file = {};
  std::vector<EndToken> end_tokens = {};  // the tokens that end an answer; empty: only limits and stops end it
  std::string reasoning = {};             // the family whose marks surround reasoning; empty: no known family
  ThinkingInfo thinking = {};             // requests set it by the names enable_thinking and reasoning_effort
  std::string tool_format = {};           // the format of tool calls in answers; empty: there is no chat template
  std::string chat_template = {};         // Jinja source: the option's, or else the file's; empty: none
  EmbeddingInfo embedding = {};           // the vectors that it makes of texts
  VisionInfo vision = {};                 // what it sees of pictures
  bool fills_gaps = false;                // the vocabulary has the tokens that ModelText::infill_prompt() needs
  int vocab_size = 0;
  int num_tokens = 0;  // the number of ids that have a text; a model may pad its vocabulary beyond them
  int num_layers = 0;
  int max_context = 0;  // the context in force: the option's, or else the model's, or as much as the KV budget holds
  std::uint64_t weight_bytes = 0;
  std::uint64_t mapped_weight_bytes = 0;     // the weights in the file's pages, outside this process's memory
  std::uint64_t weight_bytes_per_token = 0;  // the weights that are read to compute a single token
  std::uint64_t kv_bytes_per_token = 0;
  int block_size = 0;                          // the tokens in a KV block
  std::uint64_t kv_arena_bytes = 0;            // the size up to which the KV memory can grow
  std::uint64_t kv_memory_bytes = 0;           // the budget of KV memory: the option's, or the default that was chosen
  std::shared_ptr<const ModelWork> work = {};  // the work of a token, for estimates of speed (`octavo bench`)
  int num_threads = 0;
  std::string device = "cpu";   // or the card's name and what it computes
  bool device_has_all = false;  // whether that GPU computes all layers and the output matrix
  std::string isa;
  Bits bits = Bits::kNative;
};

}  // namespace octavo
