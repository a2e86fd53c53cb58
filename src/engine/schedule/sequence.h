// One answer in the making: what was asked, where it stands (tokens, how many are in the cache, and its sequence
// there), and the scheduler's notes on it.
//
// Owned by the engine's request; the scheduler keeps plain pointers to those it was given. Only the thread that drives
// the engine may touch it. A sequence catches up until the tokens are computed that it had when it was admitted: its
// prompt, or what it lost in a preemption. After that each step computes what was drawn last.
#pragma once

#include <algorithm>
#include <compare>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "engine/drafts/draft.h"
#include "engine/schedule/picture_rows.h"
#include "engine/schedule/pooled_rows.h"
#include "model/rope_position.h"
#include "octavo/kv/chunk_size.h"
#include "octavo/kv/prefix_cache.h"
#include "octavo/request.h"

namespace octavo {

/// The order in all that the scheduler decides: the lower goes first.
struct Rank {
  /// The step in which it came, less kStepsPerPriority for each degree of priority, and more by kStepsPerChoice for
  /// each choice of its owner's that goes before it (owner_ranks.h). So waiting long enough outweighs both, and nobody
  /// waits for ever.
  std::int64_t virtual_arrival = 0;
  RequestId id = 0;
  int choice = 0;

  friend auto operator<=>(const Rank&, const Rank&) = default;
};

/// One owner's part in the scheduler's OwnerRanks.
struct OwnerCounts {
  int num_sequences = 0;
  int turns = 0;                  // scratch of DecodeTurns
  int choices_before = 0;         // scratch of update_ranks(), as the next
  std::int64_t last_arrival = 0;  // virtual
};

/// The request's part of a sequence. It does not change.
struct SequenceParams {
  RequestId id = 0;  // of its request, ascending with arrival
  int choice = 0;    // among the choices of its request
  int priority = 0;  // the higher, the earlier
  std::string_view cache_domain = {};
  std::string_view owner = {};
  int prompt_tokens = 0;
  int generation_prompt_tokens = 1;  // at the prompt's end: the next turn of a conversation may have others there
  int max_cached = 0;                // tokens that will ever be in the cache at once
  bool samples = true;               // a token is drawn after the last one
  bool makes_vector = false;         // rows of the prompt become a vector, and no logits are wanted
  bool is_whole = false;             // all its tokens are computed in one step (RunnerInfo::is_encoder)
};

/// The part of the prompt's results that the caller does not have yet.
struct SequencePending {
  PositionRange vector_rows = {};  // of the prompt, which its vector is made of
  int prompt_logits_from = 0;      // logits of prompt positions from here on are wanted; prompt_tokens: none
  int reported_progress = -1;      // computed tokens that the caller was told of; prompt_tokens: no more to tell
  int reported_encoded = 0;        // tokens of pictures beside them
};

/// The scheduler's memory of a sequence. Nobody else writes it.
struct SchedulerNotes {
  // Its rank
  OwnerCounts* counts_of_owner = nullptr;  // kept by OwnerRanks; set when it is added
  Rank own_rank = {};                      // set when it is added: as if its owner had nothing else
  Rank rank = {};                          // may change between steps, when others come or go
  bool is_ranked = false;                  // it has one
  int choices_ranked = 0;                  // that it had when its rank was set
  // Since it was admitted
  bool was_admitted = false;            // it ran once
  bool was_looked_for = false;          // in the store, behind what memory had
  int num_admitted_tokens = 0;          // tokens that it had when it was last admitted; 0: it was forked
  PrefillTurns prefill_turns = {};      // since then
  std::uint64_t publications_seen = 0;  // when it last looked for its prefix
  int checkpoint_at = 0;                // the next place at which its state is kept, as last planned; 0: none was
  int checkpoint_uses = 0;              // uses of that checkpoint that are foreseen
  int max_computed = 0;                 // the most tokens that were ever in the cache: it has had these itself
  int steps_waited = 0;                 // steps in a row in which it was running, could have had rows and got none
  std::uint64_t planned_in_step = 0;    // the last step in which it had rows; 0: none yet
  std::uint64_t skipped_in_step = 0;    // the last step in which others had its turn (decode_turns.h)
  // Scratch of scheduling a step
  int priority_in_step = 0;  // the best of its own and of those that wait for what it computes
  int turn = 0;              // of DecodeTurns: among its request's rows, then among its owner's
};

/// The rows of a prompt that are places in pictures. Its tokens there are placeholders.
struct SequenceGiven {
  std::vector<GivenRows> rows = {};                         // as RowSource has them
  std::vector<std::shared_ptr<PictureRows>> pictures = {};  // of each
  /// Tokens behind the first `num_computed` whose vectors are there; of a picture that is being encoded a share.
  int num_encoded(int num_computed) const;

  bool turns_by_grid = false;  // rotations have parts: a picture takes as many positions as its longer side has tokens
};

struct Sequence {
  enum class State : std::uint8_t { kIdle, kWaiting, kRunning };  // idle: not with the scheduler

  SequenceParams params = {};
  std::vector<TokenId> tokens = {};  // the prompt, then what was generated; must not move while the sequence is running
  SequenceGiven given = {};          // of the prompt; mostly empty
  std::vector<std::uint8_t> token_types = {};  // of the prompt (Request::token_types); empty: all 0
  BlockChain chain = {};                       // hashes of its full blocks; without a prefix cache none
  SequenceId kv = 0;                           // in the engine's KvCacheManager
  int num_computed = 0;                        // leading tokens whose K and V are in the cache
  int num_followed = 0;                        // leading tokens that are followed by one that was known without a draw
  int num_forks =
      0;  // choices that will fork from it when its prompt is computed; until then they count among those that run
  double draw_ms = 0;  // that a token takes beside its row, its draw and its event, as the last ones did; 0: not known
  SequencePending pending = {};
  Draft draft = {};  // tokens that may follow
  State state = State::kIdle;
  int cached_tokens = 0;  // of the prompt, computed by others
  int stored_tokens = 0;  // of these, tokens that a store had (stored_prefixes.h), as far as they were found then
  int diverged_at = -1;   // the position at which it parts from what its owner's requests have computed; -1: nowhere
  int num_preemptions = 0;
  bool waits_for_mask = false;  // the tokens that its next one may be are not known yet (mask_finder.h)
  SchedulerNotes notes = {};

  /// Hashes its blocks under its domain; for a sequence without tokens of an answer.
  void hash_blocks(const BlockHashing& hashing);

  /// Uncomputed tokens up to the next picture whose vectors are not there.
  int num_ready() const;
  /// Nothing of it can be computed until something else is: a mask, or a picture.
  bool waits() const { return waits_for_mask || (num_uncomputed() > 0 && num_ready() == 0); }
  /// What rotations read of a row, drafted ones included.
  RopePosition rope_position(int position) const;

  /// What its rows are.
  RowSource rows() const { return {tokens, given.rows}; }

  int num_tokens() const { return static_cast<int>(tokens.size()); }
  int num_uncomputed() const { return num_tokens() - num_computed; }
  const Rank& rank() const { return notes.rank; }
  const Rank& own_rank() const { return notes.own_rank; }
  bool is_running() const { return state == State::kRunning; }
  /// Tokens that it had when it was admitted and that are not computed yet.
  int num_behind() const { return std::max(0, notes.num_admitted_tokens - num_computed); }
  /// It has more to compute than what was drawn since it was admitted: the policy may cut that into chunks, and let
  /// others go first.
  bool is_catching_up() const { return num_computed < notes.num_admitted_tokens; }
  /// A prompt that runs on only because some of its choices have not begun.
  bool awaits_choices() const { return num_uncomputed() == 0; }
  /// Rows whose logits are wanted must be computed, whatever is cached.
  bool may_use_cache() const {
    return params.makes_vector ? pending.vector_rows.begin >= params.prompt_tokens - 1
                               : pending.prompt_logits_from >= params.prompt_tokens;
  }
  /// A token is drawn from the row of `position`: behind the last token that it had when it was admitted, and behind
  /// each one that came since, but for those that are followed by a known one.
  bool draws_after(int position) const { return params.samples && position >= first_draw(); }
  /// Tokens drawn from the rows of its tokens [num_computed, end).
  int num_draws(int end) const { return params.samples ? std::max(0, end - std::max(num_computed, first_draw())) : 0; }
  /// Rows of its tokens [num_computed, end) that are wanted behind the last layer: those of its vector; or those whose
  /// logits are wanted, which are the last ones.
  PositionRange wanted_rows(int end) const {
    if (params.makes_vector)
      return {.begin = std::max(num_computed, pending.vector_rows.begin),
              .end = std::min(end, pending.vector_rows.end)};
    const int of_prompt = std::min(end, params.prompt_tokens) - std::max(num_computed, pending.prompt_logits_from);
    return {.begin = end - std::max(of_prompt, num_draws(end)), .end = end};
  }
  int num_logit_rows(int end) const {
    const PositionRange wanted = wanted_rows(end);
    return std::max(0, wanted.end - wanted.begin);
  }
  /// The first position from whose row a token is drawn.
  int first_draw() const { return std::max(notes.num_admitted_tokens - 1, num_followed); }
  /// Places in a step that it holds: its own, and those of the choices that will fork from it.
  int num_choices() const { return 1 + num_forks; }
};

}  // namespace octavo
