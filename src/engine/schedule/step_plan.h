// The plan of one step: which sequences advance by how many tokens, and all that the step learns on its way.
//
// A plan passes through a step as an argument. HeadDrafts fills the guesses; Scheduler::schedule() the sequences, the
// copies, the claims and the budget; build_batch() the arrays that a runner reads and the list of their rows of logits;
// StepSampler the samples. Scheduler::accept() then counts what was computed.
//
// The engine owns one plan and uses it again for every step, so that a step allocates nothing after warm-up. One plan
// is in flight. What a step makes of a sequence stands in its plan, not in the sequence. For a second plan, scheduled
// while the first is computed, these would have to hold, too:
// - the second plan takes no sequence whose next token the first one draws, or takes a placeholder for that token;
// - a block that the first plan writes is neither given back nor published before the first plan is accepted.
// Only the thread that drives the engine may touch it.
#pragma once

#include <vector>

#include "engine/schedule/block_claims.h"
#include "engine/schedule/cost_model.h"
#include "engine/schedule/samples.h"
#include "engine/schedule/sequence.h"
#include "engine/schedule/step_budget.h"
#include "kv/kv_cache_manager.h"
#include "model/batch.h"

namespace octavo {

/// The bounds of a step.
struct StepLimits {
  int max_step_tokens = 512;  // rows in one step, at least 1
  int max_sequences = 256;    // sequences in one step, at least 1; no more than rows
  int grouped_tokens = 512;   // rows of a step in which several sequences are whole; one alone may have more
  int max_context = 0;        // tokens of the longest sequence, whose room is never pinned; 0: nothing is pinned
  double step_ms = 0;         // predicted time of a step in which somebody waits for the next token; 0: any
  PrefillPriority policy = PrefillPriority::kInterleaved;
};

/// A sequence that advances by tokens [num_computed, num_computed + num_tokens), of which the last num_drafted are
/// those of its draft.
struct ScheduledSequence {
  Sequence* sequence;
  int num_tokens;
  int num_drafted = 0;
  int num_beginning = 0;  // choices that begin in this step, of a prompt that is computed by its end
  int num_accepted = 0;   // of its tokens, until now

  int num_left() const { return num_tokens - num_accepted; }
};

/// A prompt that was computed before the step, and choices of it that begin in it.
struct BeginningChoices {
  Sequence* prompt;
  int number;
};

/// One row of logits: the distribution of the token after `position` of a planned sequence. Several rows of a sequence
/// may be drawn from in a step.
struct LogitRow {
  int planned;  // index into StepPlan::sequences
  int position;
  bool draws;        // a token at position + 1 is drawn from it
  int drafted = -1;  // its number among the step's rows of drafted tokens; -1: its token is known
};

struct StepPlan {
  /// Makes room for steps within `limits` over the memory that `kv` counts. Without a cost model no time is predicted.
  /// The cost model must outlive the plan.
  StepPlan(const StepLimits& limits, const KvCacheManager& kv, const CostModel* cost = nullptr);

  /// Makes room for guesses, where the runner makes some.
  void reserve_guesses();
  /// Takes room for block tables of `num_blocks` blocks in each group, so that build_batch() and build_guesses() of
  /// sequences that have no more do not allocate.
  void reserve_tables(std::size_t num_blocks);
  /// Empties everything but the guesses and the budget, which Scheduler::schedule() begins anew.
  void clear();

  /// The step has nothing to do.
  bool is_empty() const { return sequences.empty() && beginning.empty(); }

  GuessBatch guesses;  // filled by HeadDrafts

  // Filled by Scheduler::schedule().
  std::vector<ScheduledSequence> sequences;
  std::vector<BeginningChoices> beginning;
  std::vector<Sequence*> newly_admitted;  // sequences that were admitted for the first time
  std::vector<BlockCopy> copies;          // of blocks, made before the step writes
  BlockClaims claims;
  StepBudget budget;

  std::vector<StateAdvance> advances;  // by drafted rows that were right, for the next batch; clear() leaves them

  // Filled by build_batch().
  Batch batch;
  std::vector<LogitRow> logit_rows;  // row i belongs to batch.logit_rows[i]
  std::uint64_t num_batches = 0;     // that were built; clear() leaves it
  std::size_t first_vector_row = 0;  // of these, from here on no logits are wanted: vectors are made of them

  // Filled by StepSampler.
  Samples samples;
};

}  // namespace octavo
