// One answer in the making, as the scheduler sees it: tokens, how many are in the cache, and its sequence there.
//
// Owned by the engine's request; the scheduler keeps plain pointers to those it was given. Only the thread that drives
// the engine may touch it. What is not yet computed when a sequence is admitted, its prompt or after a preemption what
// it lost, is read in chunks that its PrefillScheduler hands out; after that it decodes, one token a step.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "octavo/engine.h"
#include "octavo/kv/prefill.h"

namespace octavo {

/// Who goes first, in all that the scheduler decides: the lower. It never changes while a sequence lives.
struct Rank {
  /// The step in which it came, less kStepsPerPriority for each degree of priority: so that waiting that long outweighs
  /// one degree, and nobody waits for ever.
  std::int64_t virtual_arrival = 0;
  RequestId id = 0;
  int choice = 0;

  friend auto operator<=>(const Rank&, const Rank&) = default;
};

struct Sequence {
  enum class State : std::uint8_t { kIdle, kWaiting, kRunning };  // idle: not with the scheduler

  RequestId id = 0;             // of its request, ascending with arrival
  int choice = 0;               // among the choices of its request
  int priority = 0;             // the higher, the earlier
  SequenceId kv = 0;            // in the runner's PagedKvCache
  std::vector<TokenId> tokens;  // the prompt, then what was generated; must not move while the sequence is running
  std::string_view cache_domain;
  BlockChain chain;  // hashes of its full blocks; without a prefix cache none
  int prompt_tokens = 0;
  int max_cached = 0;          // tokens that will ever be in the cache at once
  int num_computed = 0;        // leading tokens whose K and V are in the cache
  bool samples = true;         // a token is drawn after the last one
  int prompt_logits_from = 0;  // logits of prompt positions from here on are wanted; prompt_tokens: none
  int progress_told = -1;  // computed tokens of the prompt that its caller was told of; prompt_tokens: no more to tell
  int num_forks = 0;       // choices that will fork from it when its prompt is computed; until then they hold seats

  State state = State::kIdle;
  Rank rank;                                // set when it is added
  int priority_in_step = 0;                 // the best of its own and of those that wait for what it computes
  std::optional<PrefillScheduler> prefill;  // while running: of `tokens` as they were at admission; none: forked
  std::uint64_t publications_seen = 0;      // of the scheduler, when it last looked for its prefix
  bool was_admitted = false;                // it ran once
  std::uint64_t planned_in_step = 0;        // the last step in which it had rows
  int steps_waited = 0;                     // steps in a row in which it was running, could have had rows and got none
  int furthest = 0;                         // the most tokens that were ever in the cache: it has had these itself
  int cached_tokens = 0;                    // of the prompt, computed by others
  int num_preemptions = 0;

  /// Hashes its blocks under its domain; for a sequence without tokens of an answer.
  void hash_blocks(const BlockHasher& hasher, int block_size);

  int num_tokens() const { return static_cast<int>(tokens.size()); }
  int num_uncomputed() const { return num_tokens() - num_computed; }
  bool in_prefill() const { return prefill && !prefill->is_complete(); }
  /// Rows whose logits are wanted must be computed, whatever is cached.
  bool may_use_cache() const { return prompt_logits_from >= prompt_tokens; }
  /// Places in a step that it holds: its own, and those of the choices that will fork from it.
  int seats() const { return 1 + num_forks; }
};

}  // namespace octavo
