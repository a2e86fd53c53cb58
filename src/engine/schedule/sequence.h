// One answer in the making: what was asked for, its state (tokens, how many are computed, and its sequence in the
// cache), and the scheduler's notes on it.
//
// Owned by the engine's request; the scheduler keeps plain pointers to those it was given. Only the thread that drives
// the engine may touch it. A sequence catches up until the tokens are computed that it had when it was admitted: its
// prompt, or what it lost in a preemption. After that each step computes the token that was drawn last.
#pragma once

#include <algorithm>
#include <compare>
#include <cstdint>
#include <memory>
#include <optional>
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

/// The order in all decisions of the scheduler: the lowest rank goes first.
struct Rank {
  /// The step in which the sequence came, less kStepsPerPriority for each degree of priority, plus kStepsPerChoice for
  /// each of its owner's choices that go before it (owner_ranks.h). So a long enough wait outweighs both, and no
  /// sequence waits for ever.
  std::int64_t virtual_arrival = 0;
  RequestId id = 0;
  int choice = 0;

  friend auto operator<=>(const Rank&, const Rank&) = default;
};

/// The counts that the scheduler's OwnerRanks keep of an owner.
struct OwnerCounts {
  int num_sequences = 0;
  int turns = 0;                  // scratch of DecodeTurns
  int choices_before = 0;         // scratch of update_ranks(), as is the next
  std::int64_t last_arrival = 0;  // a virtual arrival
};

/// The part of a sequence that the request gives. It does not change.
struct SequenceParams {
  RequestId id = 0;  // the request's id, ascending with arrival
  int choice = 0;    // the number of the choice in its request
  int priority = 0;  // a higher one goes earlier
  std::string_view cache_domain = {};
  std::string_view owner = {};
  std::string_view flow = {};
  bool hides_blocks = false;  // nobody outside is told of its blocks
  int prompt_tokens = 0;
  int generation_prompt_tokens = 1;  // at the end of the prompt; the next turn of a conversation may have others there
  int max_cached = 0;                // the most tokens that will ever be in the cache at once
  bool samples = true;               // a token is drawn after the last one
  bool makes_vector = false;         // rows of the prompt become a vector, and no logits are needed
  bool is_whole = false;             // all its tokens are computed in one step (RunnerInfo::is_encoder)
};

/// The prompt's results that the caller still has to get.
struct SequencePending {
  PositionRange vector_rows = {};  // the positions of the prompt whose rows make its vector
  int prompt_logits_from = 0;      // the first prompt position whose logits are wanted; prompt_tokens: none
  int reported_progress = -1;      // how many computed tokens were reported; prompt_tokens: nothing is left to report
  int reported_encoded = 0;        // how many tokens of encoded pictures were reported with them
};

/// The scheduler's notes about a sequence. Nobody else writes them.
struct SchedulerNotes {
  // The notes about its rank.
  OwnerCounts* counts_of_owner = nullptr;  // kept by OwnerRanks; set when the sequence is added
  OwnerCounts* counts_of_flow = nullptr;   // the same
  std::optional<std::int64_t> flow_arrival =
      {};                  // the virtual arrival that its flow gives it; none: it has not counted
  Rank own_rank = {};      // the rank if its owner had no other; set when the sequence is added
  Rank rank = {};          // changes between steps, when others come or go
  bool is_ranked = false;  // `rank` is set
  int choices_ranked = 0;  // the choices that it had when its rank was set
  // The notes since it was admitted.
  bool was_admitted = false;            // it has run once
  bool was_looked_for = false;          // the store was searched for what follows the part in memory
  int num_admitted_tokens = 0;          // the tokens that it had when it was last admitted; 0: it was forked
  PrefillTurns prefill_turns = {};      // since it was last admitted
  std::uint64_t publications_seen = 0;  // the publications when it last looked for its prefix
  int checkpoint_at = 0;                // the next place at which its state is kept, as last planned; 0: none
  int checkpoint_uses = 0;              // how many uses of that checkpoint are expected
  int max_computed = 0;                 // the most tokens that it ever had in the cache: it had these itself
  int joint_end = 0;                    // up to this position a joint pass is under way, whose rows do not count as
                                        // computed yet; 0: none is
  int steps_waited = 0;                 // steps in a row in which it ran, could have had rows and got none
  std::uint64_t planned_in_step = 0;    // the last step in which it had rows; 0: none
  std::uint64_t skipped_in_step = 0;    // the last step in which others had its turn (decode_turns.h)
  // Scratch while a step is scheduled.
  int priority_in_step = 0;  // the best priority of its own and of those that wait for what it computes
  int turn = 0;              // of DecodeTurns: the number among its request's rows, then among its owner's
};

/// The rows of a prompt that are places in pictures; the prompt has placeholders there.
struct SequenceGiven {
  std::vector<GivenRows> rows = {};                         // in the form of RowSource
  std::vector<std::shared_ptr<PictureRows>> pictures = {};  // the picture of each
  /// How many tokens after the first `num_computed` have vectors; of a picture that is being encoded, its done share.
  int num_encoded(int num_computed) const;

  bool turns_by_grid = false;  // a picture takes as many positions as its longer side has tokens: rotations have parts
  bool joins_rows = false;     // the rows of a picture see each other, so that they are computed together

  /// Whether there are rows of pictures from `begin` to `end`.
  bool has_rows(int begin, int end) const;
  /// How many rows from `position` on are computed together; 0: the row there may be computed by itself.
  int num_joint_rows(int position) const;
  /// The most rows behind the first `num_computed` that are computed together.
  int most_joint_rows(int num_computed) const;
};

struct Sequence {
  enum class State : std::uint8_t { kIdle, kWaiting, kRunning };  // kIdle: the scheduler does not have it

  SequenceParams params = {};
  std::vector<TokenId> tokens = {};            // the prompt, then the answer; must not move while the sequence runs
  SequenceGiven given = {};                    // for the prompt; mostly empty
  std::vector<std::uint8_t> token_types = {};  // for the prompt (Request::token_types); empty: all 0
  BlockChain chain = {};                       // the hashes of its full blocks; empty without a prefix cache
  SequenceId kv = 0;                           // its id in the engine's KvCacheManager
  int num_computed = 0;                        // how many leading tokens have K and V in the cache
  int num_followed = 0;                        // how many leading tokens were followed by one that needed no draw
  int num_forks =
      0;  // choices that will fork from it when its prompt is computed; until then they count among those that run
  double draw_ms = 0;  // average time of a token's draw and event, beside its row; 0: not known
  SequencePending pending = {};
  Draft draft = {};  // tokens that may follow
  State state = State::kIdle;
  int cached_tokens = 0;  // tokens of the prompt that others had computed
  int stored_tokens = 0;  // those of them that a store had (stored_prefixes.h)
  int diverged_at = -1;   // the position at which it parts from what its owner's requests have computed; -1: none
  int num_preemptions = 0;
  bool waits_for_mask = false;  // the mask of its next token is not known yet (mask_finder.h)
  SchedulerNotes notes = {};

  /// Hashes its blocks under its cache domain; only for a sequence without tokens of an answer.
  void hash_blocks(const BlockHashing& hashing);

  /// How many uncomputed tokens stand before the next picture without vectors, or whose rows need a joint pass.
  int num_ready() const;
  /// Whether its next rows need a joint pass, and could begin one.
  bool awaits_joint_pass() const;
  /// Whether no row of it can be in a step until a mask, a picture or a joint pass is ready.
  bool waits() const { return waits_for_mask || (num_uncomputed() > 0 && num_ready() == 0); }
  /// The rotary position of a row; also of drafted rows.
  RopePosition rope_position(int position) const;

  /// The source of its rows.
  RowSource rows() const { return {tokens, given.rows}; }

  int num_tokens() const { return static_cast<int>(tokens.size()); }
  int num_uncomputed() const { return num_tokens() - num_computed; }
  const Rank& rank() const { return notes.rank; }
  const Rank& own_rank() const { return notes.own_rank; }
  bool is_running() const { return state == State::kRunning; }
  /// How many tokens it had when it was admitted that are not computed yet.
  int num_behind() const { return std::max(0, notes.num_admitted_tokens - num_computed); }
  /// Whether it has more to compute than what was drawn since it was admitted: the policy may cut that into chunks, and
  /// let others go first.
  bool is_catching_up() const { return num_computed < notes.num_admitted_tokens; }
  /// Whether it is a computed prompt that only runs because some of its choices have not begun.
  bool awaits_choices() const { return num_uncomputed() == 0; }
  /// Whether cached blocks may be used: rows whose logits are wanted must be computed.
  bool may_use_cache() const {
    return params.makes_vector ? pending.vector_rows.begin >= params.prompt_tokens - 1
                               : pending.prompt_logits_from >= params.prompt_tokens;
  }
  /// Whether a token is drawn from the row at `position`: it is one from the last token on that the sequence had when
  /// it was admitted, and no known token follows it.
  bool draws_after(int position) const { return params.samples && position >= first_draw(); }
  /// How many tokens are drawn from the rows of its tokens [num_computed, end).
  int num_draws(int end) const { return params.samples ? std::max(0, end - std::max(num_computed, first_draw())) : 0; }
  /// The rows of its tokens [num_computed, end) that are needed after the last layer: those of its vector; or the last
  /// ones, whose logits are wanted.
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
  /// The first position whose row a token is drawn from.
  int first_draw() const { return std::max(notes.num_admitted_tokens - 1, num_followed); }
  /// How many places in a step it holds: its own, and those of choices that will fork from it.
  int num_choices() const { return 1 + num_forks; }
};

}  // namespace octavo
