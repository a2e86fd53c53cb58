// The plan of one step: which sequences advance by how many tokens, and all that the step finds out.
//
// A plan is passed through a step as an argument. HeadDrafts fills in the guesses; Scheduler::schedule() the sequences,
// copies, claims and budget; build_batch() the arrays for the runner and the list of rows with logits; StepSampler the
// samples. Scheduler::accept() then counts what was computed.
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

/// The limits of a step.
struct StepLimits {
  int max_step_tokens = 512;  // the most rows in a step, at least 1
  int max_sequences = 256;    // the most sequences in a step, at least 1; no more than rows
  int grouped_tokens = 512;   // the most rows where a step has several whole sequences; a single one may have more
  int joint_rows = 0;         // the most rows of a joint pass; 0: there are none
  int max_context = 0;        // tokens of the longest sequence, whose room is never pinned; 0: nothing is pinned
  double step_ms = 0;         // the predicted time of a step in which somebody waits for the next token; 0: no limit
  PrefillPriority policy = PrefillPriority::kInterleaved;
};

/// A sequence that advances by the tokens [num_computed, num_computed + num_tokens); the last num_drafted of them are
/// drafted.
struct ScheduledSequence {
  Sequence* sequence;
  int num_tokens;
  int num_drafted = 0;
  int num_beginning = 0;  // how many choices begin in this step, of a prompt that is computed by its end
  int num_accepted = 0;   // how many of the tokens were accepted so far

  int num_left() const { return num_tokens - num_accepted; }
};

/// A prompt that was computed before the step, and how many choices of it begin in the step.
struct BeginningChoices {
  Sequence* prompt;
  int number;
};

/// A row of logits: the distribution of the token after `position` of a planned sequence. A step may draw from several
/// rows of a sequence.
struct LogitRow {
  int planned;  // index into StepPlan::sequences
  int position;
  bool draws;        // the token at position + 1 is drawn from it
  int drafted = -1;  // its number among the step's drafted rows; -1: its token is known
};

struct StepPlan {
  /// Makes room for steps within `limits`, over the memory that `kv` counts. Without a cost model no time is predicted.
  /// The cost model must outlive the plan.
  StepPlan(const StepLimits& limits, const KvCacheManager& kv, const CostModel* cost = nullptr);

  /// Makes room for guesses. Called where the runner makes some.
  void reserve_guesses();
  /// Makes room for block tables of `num_blocks` blocks in each group, so that build_batch() and build_guesses()
  /// allocate nothing for sequences with no more.
  void reserve_tables(std::size_t num_blocks);
  /// Empties all but the guesses and the budget, which Scheduler::schedule() begins anew.
  void clear();

  /// Whether the step has nothing to do.
  bool is_empty() const { return sequences.empty() && beginning.empty(); }

  GuessBatch guesses;  // filled by HeadDrafts

  // Filled by Scheduler::schedule().
  std::vector<ScheduledSequence> sequences;
  std::vector<BeginningChoices> beginning;
  std::vector<Sequence*> newly_admitted;  // sequences that are admitted for the first time
  std::vector<BlockCopy> copies;          // copies of blocks, made before the step writes
  bool ends_joint_pass = false;           // the rows of the only sequence are those of its joint pass
  BlockClaims claims;
  StepBudget budget;

  std::vector<StateAdvance> advances;  // by right drafted rows, for the next batch; clear() leaves them

  // Filled by build_batch().
  Batch batch;
  std::vector<LogitRow> logit_rows;  // row i belongs to batch.logit_rows[i]
  std::uint64_t num_batches = 0;     // the batches that were built; clear() leaves it
  std::size_t first_vector_row = 0;  // the index in logit_rows from which on rows make vectors, without logits

  // Filled by StepSampler.
  Samples samples;
};

}  // namespace octavo
