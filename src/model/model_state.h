// The state of a model's sequences, from the specs of its layers: its layout, and the memory that it takes.
//
// Pure functions of the specs.
#pragma once

#include <cstdint>

#include "kv/state_layout.h"
#include "model/config.h"

namespace octavo {

/// The layout of a sequence's state. Its layers are those of the model and of the draft head; the head's keys and
/// values have a recurrent state beside them: the hidden row of the sequence's last token. All layers of an encoder
/// share one place, as a step leaves nothing. Error: a layer borrows from one that does not fit.
Result<StateLayout> state_layout(const ModelConfig& config, KvType type, KvLayout layout, int block_size);

/// The memory that the state of a model's sequence takes, in bytes.
struct KvNeed {
  std::uint64_t bytes_per_token = 0;  // in all layers together
  std::uint64_t bytes = 0;  // for one sequence, in whole blocks; windowed layers keep their window and a step;
                            // its recurrent state included
  std::uint64_t recurrent_bytes = 0;  // its recurrent state, whatever its length
};
KvNeed kv_need(const ModelConfig& config, KvType type, int block_size, std::int64_t num_tokens);

/// The bytes of one token's keys and values in a layer that attends.
std::uint64_t kv_bytes_of_token(const KvLayerShape& shape, KvType type);

/// The default KV memory: half of what the weights leave. Packed weights are in memory already; mapped ones will want
/// their pages. If these do not fit anyway, the file is read again and again, and the cache gets an eighth.
std::uint64_t default_kv_memory(std::uint64_t available_bytes, std::uint64_t mapped_weight_bytes);

/// The most tokens of a sequence within a KV memory of `budget` bytes, but no more than the model was trained for.
int largest_context(const ModelConfig& config, KvType type, int block_size, std::uint64_t budget);

}  // namespace octavo
