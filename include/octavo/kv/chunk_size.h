// The size of a prompt's next chunk by a policy: the one rule that PrefillScheduler and the engine's scheduler share.
//
// Plain values.
#pragma once

#include <limits>

#include "octavo/prefill_priority.h"
#include "octavo/result.h"

namespace octavo {

struct PrefillConfig {
  int chunk_size = 512;  // tokens, at least 1
  int overlap = 0;       // tokens of the previous chunk to compute again, for models without a cache; < chunk_size
  PrefillPriority priority = PrefillPriority::kPrefillFirst;
  int max_yields = 8;  // kDecodePriority: the most yields in a row, after which a chunk runs all the same; 0: no yield

  PrefillConfig() = default;
  explicit PrefillConfig(int chunk) : chunk_size(chunk) {}
  PrefillConfig with_chunk_size(int tokens) const;
  PrefillConfig with_overlap(int tokens) const;
  PrefillConfig with_priority(PrefillPriority value) const;
  PrefillConfig with_max_yields(int yields) const;
  /// Error: chunk_size, overlap or max_yields is out of range.
  Result<void> check() const;
};

/// The turns that the chunks of a prompt and the decodes of others have taken so far.
struct PrefillTurns {
  bool owes_yield = false;  // kInterleaved: a chunk was handed out since the last yield
  int yields = 0;           // kDecodePriority: yields in a row
};

/// A prompt that asks for its next chunk.
struct ChunkRequest {
  static constexpr int kNoLimit = std::numeric_limits<int>::max();

  int tokens_left = 0;         // the tokens of the prompt from the beginning of the chunk on
  int overlap = 0;             // the tokens at the beginning that the previous chunk had as well
  int max_tokens = kNoLimit;   // the most tokens that the chunk may have
  int to_border = kNoLimit;    // tokens up to where a chunk must end, the overlap included; at least 1
  bool decode_waiting = true;  // only kDecodePriority reads it
};

/// The number of tokens in the next chunk: at most chunk_size, max_tokens, tokens_left and to_border. 0 where the
/// prompt yields to decodes: by its priority, or because the chunk would have no token that the previous one did not
/// have. The turn is counted in `turns`. This function cuts every chunk, PrefillScheduler's and the engine's alike.
int next_chunk_size(const PrefillConfig& config, const ChunkRequest& request, PrefillTurns& turns);

}  // namespace octavo
