#include "octavo/kv/chunk_size.h"

#include <algorithm>

#include "base/error.h"

namespace octavo {

PrefillConfig PrefillConfig::with_chunk_size(int tokens) const {
  PrefillConfig changed = *this;
  changed.chunk_size = tokens;
  return changed;
}

PrefillConfig PrefillConfig::with_overlap(int tokens) const {
  PrefillConfig changed = *this;
  changed.overlap = tokens;
  return changed;
}

PrefillConfig PrefillConfig::with_priority(PrefillPriority value) const {
  PrefillConfig changed = *this;
  changed.priority = value;
  return changed;
}

PrefillConfig PrefillConfig::with_max_yields(int yields) const {
  PrefillConfig changed = *this;
  changed.max_yields = yields;
  return changed;
}

Result<void> PrefillConfig::check() const {
  if (chunk_size < 1) return fail("prefill: chunk_size is {}, expected at least 1", chunk_size);
  if (overlap < 0 || overlap >= chunk_size)
    return fail("prefill: overlap is {}, expected 0 to {} (less than chunk_size)", overlap, chunk_size - 1);
  if (max_yields < 0) return fail("prefill: max_yields is {}, expected at least 0", max_yields);
  return {};
}

namespace {

bool must_yield(const PrefillConfig& config, const PrefillTurns& turns, bool decode_waiting) {
  switch (config.priority) {
    case PrefillPriority::kPrefillFirst: return false;
    case PrefillPriority::kInterleaved: return turns.owes_yield;
    case PrefillPriority::kDecodePriority: return decode_waiting && turns.yields < config.max_yields;
  }
  return false;
}

}  // namespace

int next_chunk_size(const PrefillConfig& config, const ChunkRequest& request, PrefillTurns& turns) {
  const int room = std::min({config.chunk_size, request.max_tokens, request.to_border});
  if (room <= request.overlap || must_yield(config, turns, request.decode_waiting)) {
    turns.owes_yield = false;
    turns.yields = std::min(turns.yields, config.max_yields - 1) + 1;  // more would change nothing, but overflow
    return 0;
  }
  turns = {.owes_yield = true, .yields = 0};
  return std::min(room, request.tokens_left);
}

}  // namespace octavo
