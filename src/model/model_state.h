// The state of a model's sequences, from the specs of its layers: its layout, and the memory that it takes.
//
// Pure functions of the specs.
#pragma once

#include <cstdint>

#include "kv/state_layout.h"
#include "model/config.h"

namespace octavo {

/// Layers of the layout are the model's and the draft head's, whose keys and values stand beside a recurrent state: the
/// hidden row of the sequence's last token. All layers of an encoder have one place, as a step leaves nothing. Error: a
/// layer borrows from one that does not fit.
Result<StateLayout> state_layout(const ModelConfig& config, KvType type, KvLayout layout, int block_size);

/// Memory that the state of a model's sequence takes, in bytes.
struct KvNeed {
  std::uint64_t bytes_per_token = 0;  // in every layer
  std::uint64_t bytes = 0;            // of one sequence, in whole blocks; windowed layers keep their window and a step;
                                      // and of its recurrent state
  std::uint64_t recurrent_bytes = 0;  // of these: its recurrent state, whatever its length
};
KvNeed kv_need(const ModelConfig& config, KvType type, int block_size, std::int64_t num_tokens);

/// Keys and values of one token in a layer that attends, in bytes.
std::uint64_t kv_bytes_of_token(const KvLayerShape& shape, KvType type);

/// The KV memory that is taken unless it is named: half of what the weights leave. Packed weights are in memory
/// already; mapped ones will want their pages. If these do not fit anyway the file is read again and again, and the
/// cache gets an eighth.
std::uint64_t default_kv_memory(std::uint64_t available_bytes, std::uint64_t mapped_weight_bytes);

/// The most tokens that one sequence may have within a KV memory of `budget` bytes; at most what the model was trained
/// for.
int largest_context(const ModelConfig& config, KvType type, int block_size, std::uint64_t budget);

}  // namespace octavo
