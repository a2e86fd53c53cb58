// One answer in the making, as the scheduler sees it: tokens, how many are in the cache, and its sequence there.
//
// Owned by the engine's request; the scheduler keeps plain pointers to those it was given. Only the thread that drives
// the engine may touch it. A sequence catches up until the tokens are computed that it had when it was admitted: its
// prompt, or what it lost in a preemption. After that each step computes what was drawn last.
#pragma once

#include <algorithm>
#include <compare>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "octavo/engine.h"
#include "octavo/kv/prefill.h"

namespace octavo {

/// Who goes first, in all that the scheduler decides: the lower.
struct Rank {
  /// The step in which it came, less kStepsPerPriority for each degree of priority, and more by kStepsPerSeat for each
  /// seat of its owner's sequences that go before it (owner_ranks.h): so that waiting long enough outweighs both, and
  /// nobody waits for ever.
  std::int64_t virtual_arrival = 0;
  RequestId id = 0;
  int choice = 0;

  friend auto operator<=>(const Rank&, const Rank&) = default;
};

/// One owner's part in the scheduler's OwnerRanks.
struct OwnerCounts {
  int num_sequences = 0;
  int turns = 0;                  // scratch of DecodeTurns
  int seats_before = 0;           // scratch of update_ranks(), as the next
  std::int64_t last_arrival = 0;  // virtual
};

struct Sequence {
  enum class State : std::uint8_t { kIdle, kWaiting, kRunning };  // idle: not with the scheduler

  RequestId id = 0;                  // of its request, ascending with arrival
  int choice = 0;                    // among the choices of its request
  int priority = 0;                  // the higher, the earlier
  SequenceId kv = 0;                 // in the runner's PagedKvCache
  std::vector<TokenId> tokens = {};  // the prompt, then what was generated; must not move while the sequence is running
  std::string_view cache_domain = {};
  std::string_view owner = {};
  BlockChain chain = {};  // hashes of its full blocks; without a prefix cache none
  int prompt_tokens = 0;
  int max_cached = 0;          // tokens that will ever be in the cache at once
  int num_computed = 0;        // leading tokens whose K and V are in the cache
  bool samples = true;         // a token is drawn after the last one
  int prompt_logits_from = 0;  // logits of prompt positions from here on are wanted; prompt_tokens: none
  int progress_told = -1;  // computed tokens of the prompt that its caller was told of; prompt_tokens: no more to tell
  int num_forks = 0;       // choices that will fork from it when its prompt is computed; until then they hold seats

  State state = State::kIdle;
  OwnerCounts* counts_of_owner = nullptr;  // kept by OwnerRanks; set when it is added
  Rank own_rank = {};                      // set when it is added: as if its owner had nothing else
  Rank rank = {};                          // may change between steps, when others come or go
  bool is_ranked = false;                  // it has one
  int priority_in_step = 0;                // the best of its own and of those that wait for what it computes
  int num_admitted_tokens = 0;             // tokens that it had when it was last admitted; 0: it was forked
  PrefillTurns prefill_turns = {};         // since then
  std::uint64_t publications_seen = 0;     // of the scheduler, when it last looked for its prefix
  bool was_admitted = false;               // it ran once
  int num_planned = 0;                     // tokens that the current step computes, until they are accepted
  std::uint64_t planned_in_step = 0;       // the last step in which it had rows
  std::uint64_t skipped_in_step = 0;       // the last step in which other owners had its turn (decode_turns.h)
  int turn = 0;                            // scratch of DecodeTurns: among its owner's rows
  int steps_waited = 0;                    // steps in a row in which it was running, could have had rows and got none
  int max_computed = 0;                    // the most tokens that were ever in the cache: it has had these itself
  int cached_tokens = 0;                   // of the prompt, computed by others
  int num_preemptions = 0;

  /// Hashes its blocks under its domain; for a sequence without tokens of an answer.
  void hash_blocks(const BlockHasher& hasher, int block_size);

  int num_tokens() const { return static_cast<int>(tokens.size()); }
  int num_uncomputed() const { return num_tokens() - num_computed; }
  bool is_running() const { return state == State::kRunning; }
  /// The current step computes some of its tokens.
  bool has_rows() const { return num_planned > 0; }
  /// Tokens that it had when it was admitted and that are not computed yet.
  int num_behind() const { return std::max(0, num_admitted_tokens - num_computed); }
  /// It has more to compute than what was drawn since it was admitted: the policy may cut that into chunks, and let
  /// others go first.
  bool is_catching_up() const { return num_computed < num_admitted_tokens; }
  /// Rows whose logits are wanted must be computed, whatever is cached.
  bool may_use_cache() const { return prompt_logits_from >= prompt_tokens; }
  /// A token is drawn from the row of `position`: behind the last token that it had when it was admitted, and behind
  /// each one that came since.
  bool draws_after(int position) const { return samples && position + 1 >= num_admitted_tokens; }
  /// How many of the rows of its tokens [num_computed, end) have their logits wanted: the last ones.
  int num_logit_rows(int end) const {
    const int of_draws = samples ? end - std::max(num_computed, num_admitted_tokens - 1) : 0;
    const int of_prompt = std::min(end, prompt_tokens) - std::max(num_computed, prompt_logits_from);
    return std::max({of_prompt, of_draws, 0});
  }
  /// Places in a step that it holds: its own, and those of the choices that will fork from it.
  int seats() const { return 1 + num_forks; }
};

}  // namespace octavo
