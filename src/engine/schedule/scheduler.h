// Decides which sequences advance in a step, and by how many tokens each: it handles integers, no tensors.
//
// Owned by the engine; only the thread that drives it may call it. It also hands out KV blocks, because who may run is
// a question of memory. docs/scheduling.md tells the rules in full; each is kept by a type of its own:
// - Everything goes by rank (sequence.h): by age, priority is a head start in age, and sequences of an owner that has
//   others already are younger by that (owner_ranks.h). The queues keep that order, and count those that run
//   (sequence_queues.h).
// - Blocks are promised at admission and kept free for whom they are promised to (block_budget.h, admission.h).
// - A sequence that cannot advance takes blocks of those with worse rank (preemption.h).
// - A step has a budget of rows, and of predicted milliseconds if there is a cost model (step_budget.h). The policy
//   says who gets it: prompts first, then decodes; decodes, then prompts; or decodes, and prompts only where none waits
//   or they have aged. If decodes of several requests do not fit the time together, they take turns (decode_turns.h),
//   and so do the choices of a prompt when they begin (choice_turns.h).
// - Drafted tokens of answers have rows as far as those pay beside all that (draft_rows.h).
// - Prompts that need the same block wait for one of them to compute it (block_claims.h), and attach to it then
//   (prefix_sharing.h). Where sequences have a recurrent state they wait for a checkpoint (checkpoint_places.h).
// A prompt, a chunk of it, what a preemption took, and the token that was drawn last all advance in the same way; they
// differ in counts alone.
// No room is an outcome, not an error. A sequence whose max_cached exceeds the cache must not be added.
#pragma once

#include <span>
#include <vector>

#include "engine/schedule/admission.h"
#include "engine/schedule/block_budget.h"
#include "engine/schedule/checkpoint_places.h"
#include "engine/schedule/choice_turns.h"
#include "engine/schedule/cost_model.h"
#include "engine/schedule/decode_turns.h"
#include "engine/schedule/draft_rows.h"
#include "engine/schedule/owner_ranks.h"
#include "engine/schedule/pinned_prefixes.h"
#include "engine/schedule/preemption.h"
#include "engine/schedule/prefix_sharing.h"
#include "engine/schedule/scheduler_counts.h"
#include "engine/schedule/sequence.h"
#include "engine/schedule/sequence_queues.h"
#include "engine/schedule/step_plan.h"
#include "kv/kv_cache_manager.h"

namespace octavo {

class Scheduler {
 public:
  using Limits = StepLimits;
  static constexpr int kMaxStepsWaited = 32;

  /// The cache, and the cost model if there is one, must outlive the scheduler.
  Scheduler(const Limits& limits, KvCacheManager& kv, const CostModel* cost = nullptr);
  Scheduler(const Scheduler&) = delete;
  Scheduler& operator=(const Scheduler&) = delete;

  /// Adds a sequence with at least one token, none of them computed, with its blocks hashed and an empty sequence in
  /// the cache. It must not move until remove().
  void add(Sequence& sequence);
  /// Forgets a sequence. The caller drops its sequence in the cache.
  void remove(Sequence& sequence);
  /// Lets `reads` read the prefixes of sequences that could be admitted; it must outlive this.
  void set_reads(PrefixReads& reads);
  /// Adds a sequence again that waited for a read: it waits to be admitted, with the rank that it had. Throws
  /// std::bad_alloc, and nothing has changed then.
  void add_again(Sequence& sequence);

  /// An empty plan with room for any step of this scheduler.
  StepPlan make_plan() const { return {limits_, kv_, cost_}; }
  /// Fills `plan` with the next step and reserves its blocks. It is empty only when there is no sequence, or all wait
  /// for masks or pictures. `num_engines`: how many engines that share the threads have work, this one included.
  /// `spent_ms`: the time that the step has taken already. Throws std::bad_alloc where the system has no memory:
  /// running sequences must be removed before the next call.
  void schedule(StepPlan& plan, int num_engines = 1, double spent_ms = 0);
  /// Begins the joint pass that the first running sequence needs, or needs the results of, and reserves its blocks;
  /// null: there is none, or `plan`, the step that was just scheduled, leaves it no room. Where the step is empty,
  /// others give way. Copies of blocks are added to `copies`. Throws std::bad_alloc as above.
  Sequence* begin_joint_pass(const StepPlan& plan, std::vector<BlockCopy>& copies);
  /// Whether a sequence runs, and a joint pass is under way for it. The pointer may be to one that is gone.
  bool is_in_joint_pass(const Sequence* sequence, RequestId id, int choice) const;
  /// Fills `plan` with a step that accepts the rows of a sequence's joint pass, which is whole.
  void schedule_joint_end(StepPlan& plan, Sequence& sequence);
  /// Accepts the next `num_tokens` of the tokens that the step computed of a sequence, which was not removed since.
  /// They are among Sequence::tokens. They are committed, blocks that became full can be found, and windows give blocks
  /// back, as far as accepted tokens go. It may be called several times in a step, until all that count are accepted.
  void accept(ScheduledSequence& planned, int num_tokens);
  /// Takes back the rows of a sequence that the step computed and that were not accepted. Called once in a step, for
  /// each planned sequence that was not removed and has such rows.
  void take_back(const ScheduledSequence& planned);

  /// Makes a choice of a sequence whose tokens are all computed. `child` has the same tokens and owner, and an empty
  /// sequence in the cache with room for them; it runs on from there, in a place that the parent held for it. Allocates
  /// nothing.
  void fork(Sequence& parent, Sequence& child);
  /// Makes a choice that runs in the parent's own place; the parent leaves the scheduler.
  void replace(Sequence& parent, Sequence& child);

  /// Counts the blocks that a step leaves free whatever it does: neither promised, nor taken by answers that grow.
  /// `spare` is [pools]; below 0 where the step may be short of blocks.
  void count_spare(std::span<int> spare);
  /// Counts the blocks that the first waiting sequence takes to be admitted; `needed` is [pools], and 0 where none
  /// waits.
  void count_first_waiting(std::span<int> needed) const;
  /// Notes that others have published blocks: prompts look for them.
  void count_publication() { sharing_.count_publication(); }

  /// The prefixes that stay in the cache whatever else runs.
  PinnedPrefixes& pins() { return pins_; }
  const PinnedPrefixes& pins() const { return pins_; }

  /// Checks that its lists are in order of rank, and its counts agree with them.
  Result<void> check_integrity() const;

  /// Whether there is no sequence; those that wait for a read are not counted.
  bool empty() const { return queues_.empty(); }
  const Limits& limits() const { return limits_; }
  /// Null: no time is predicted.
  const CostModel* cost() const { return cost_; }
  std::span<Sequence* const> running() const { return queues_.running(); }
  std::span<Sequence* const> waiting() const { return queues_.waiting(); }
  int num_waiting() const { return static_cast<int>(queues_.waiting().size()); }
  int num_running() const { return static_cast<int>(queues_.running().size()); }
  const SchedulerCounts& counts() const { return counts_; }

 private:
  bool awaits_reads() const { return reads_ != nullptr && reads_->num_waiting() > 0; }
  void begin_step(StepPlan& plan, int num_engines, double spent_ms);
  void schedule_by_policy(StepPlan& plan);
  void choose_choices(StepPlan& plan);
  void schedule_decodes(StepPlan& plan, bool only_aged, bool within_time);
  bool schedule_decode(StepPlan& plan, Sequence& sequence);
  void schedule_prompts(StepPlan& plan);
  bool schedule_prompt(StepPlan& plan, Sequence& sequence);
  bool schedule_whole(StepPlan& plan, Sequence& sequence);
  const Sequence* claimant_for(const StepPlan& plan, const Sequence& sequence) const;
  bool schedule_chunk(StepPlan& plan, Sequence& sequence, int max_tokens);
  bool can_go_on(const StepPlan& plan, const Sequence& sequence) const;
  void schedule_best(StepPlan& plan);
  Sequence* next_for_joint_pass(const StepPlan& plan) const;
  bool is_awaited(const StepPlan& plan, const Sequence& sequence) const;
  bool some_wait() const;
  bool make_joint_room(const StepPlan& plan, Sequence& sequence, int rows);
  void advance(StepPlan& plan, Sequence& sequence, int num_tokens);
  void schedule_drafts(StepPlan& plan);
  void reserve(StepPlan& plan, const Sequence& sequence, int first, int end);
  void start_child(const Sequence& parent, Sequence& child);

  Limits limits_;
  PrefillConfig prefill_config_;
  KvCacheManager& kv_;
  const CostModel* cost_;
  SchedulerCounts counts_;
  OwnerRanks owners_;  // ranks all sequences
  SequenceQueues queues_;
  PinnedPrefixes pins_;
  BlockBudget block_budget_;
  PrefixSharing sharing_;
  Preemption preemption_;
  Admission admission_;
  const PrefixReads* reads_ = nullptr;  // null: no prefixes are read
  CheckpointPlaces places_;
  DecodeTurns turns_;
  ChoiceTurns choice_turns_;
  DraftRows draft_rows_;
  std::vector<Sequence*> prompts_;  // scratch of schedule_prompts(), in the order in which they get rows
  std::vector<int> needed_;         // [groups] scratch of schedule_decode()
};

}  // namespace octavo
