// One answer in the making, as the scheduler sees it: tokens, how many are in the cache, and the blocks that hold them.
//
// Owned by the engine's request; the scheduler keeps plain pointers to those it was given. Only the thread that drives
// the engine may touch it. There is no prefill state: a sequence with several tokens not yet computed is read in
// chunks, one with a single such token decodes.
#pragma once

#include <cstdint>
#include <vector>

#include "octavo/engine.h"
#include "octavo/kv/block_table.h"

namespace octavo {

struct Sequence {
  RequestId id = 0;             // ascending with arrival: the lower one is older
  std::vector<TokenId> tokens;  // the prompt, then what was generated
  int prompt_tokens = 0;
  int max_cached = 0;          // tokens that will ever be in the cache at once
  int num_computed = 0;        // leading tokens whose K and V are in the cache
  bool samples = true;         // a token is drawn after the last one
  int prompt_logits_from = 0;  // logits of prompt positions from here on are wanted; prompt_tokens: none
  int steps_waited = 0;        // steps in a row in which it was admitted and got no row
  bool admitted = false;
  std::vector<BlockTable> tables;  // one an attention group

  int num_tokens() const { return static_cast<int>(tokens.size()); }
  int num_uncomputed() const { return num_tokens() - num_computed; }
};

}  // namespace octavo
