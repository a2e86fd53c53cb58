// Decides which sequences advance in a step, and by how many tokens each: integers, no tensors.
//
// Owned by the engine; only the thread that drives it may call it. It also hands out KV blocks, because who may run is
// a question of memory. docs/scheduling.md tells the rules in full; in short:
// - Everything goes by rank (sequence.h): by age, priority is a head start in age, and what one's owner has already is
//   the contrary (owner_shares.h).
// - Admission (scheduler_admission.cc), in order of rank. A sequence attaches to the blocks of its prefix that are
//   cached, then waits until the blocks of all its other tokens and one more (one more a choice) can be promised to it.
//   A promise is kept free: decodes, other prompts and admissions do not touch it, so a prompt in chunks does not run
//   out half way. Where all seats are taken, those of other owners with worse rank stand up for it.
// - A step has a budget of rows, and of predicted milliseconds if there is a cost model. The policy says who gets it:
//   prompts first, then decodes; decodes, then prompts; or decodes, and prompts only where none waits or they have
//   aged. Where decodes of several owners do not fit the time together, they take turns (decode_turns.h).
// - Prompt rows (scheduler_prompts.cc): best priority and fewest uncomputed tokens first; one that was passed over
//   kMaxStepsWaited times goes before all that were not. What a prompt computes it claims: another that needs the same
//   block waits for it and attaches, and never computes it again. Claims are made anew in each step, so that they pass
//   on by themselves when their owner is gone.
// - Preemption (scheduler_preemption.cc). One that cannot grow takes blocks of those with worse rank, worst first: tail
//   blocks, no more than it needs. They wait with what they still hold, and go on, with the same result, when what they
//   lost and one block more fits. The best rank is never a victim, so every sequence ends.
// No room is an outcome, not an error. A sequence whose max_cached exceeds the cache must not be added.
#pragma once

#include <span>
#include <vector>

#include "engine/cost_model.h"
#include "engine/decode_turns.h"
#include "engine/owner_shares.h"
#include "engine/sequence.h"
#include "octavo/kv/paged_kv_cache.h"

namespace octavo {

struct ScheduledSequence {
  Sequence* sequence;
  int num_tokens;           // advances by tokens [num_computed, num_computed + num_tokens)
  PrefillChunk chunk = {};  // prompt rows: the same tokens, as its PrefillScheduler gave them; empty: a decode row
};

class Scheduler {
 public:
  struct Limits {
    int max_step_tokens = 512;  // rows in one step, at least 1
    int max_sequences = 256;    // sequences in one step, at least 1; no more than rows
    double step_ms = 0;         // predicted time of a step in which somebody waits for the next token; 0: any
    PrefillPriority policy = PrefillPriority::kInterleaved;
  };
  static constexpr int kMaxStepsWaited = 32;
  /// Times step_ms: a step in which nobody waits for the next token. At the default of 50 ms a cancel, which takes
  /// effect between steps, is heard within 100.
  static constexpr double kPromptStepFactor = 1.6;

  /// The cache, and the cost model if there is one, must outlive the scheduler.
  Scheduler(const Limits& limits, PagedKvCache& kv, const CostModel* cost = nullptr);

  /// Takes a sequence with at least one token, none computed, its blocks hashed, and an empty sequence of the cache. It
  /// must stay where it is until remove().
  void add(Sequence& sequence);
  /// Forgets a sequence that it was given. The caller drops its sequence in the cache.
  void remove(Sequence& sequence);

  /// The next step; empty only when there is no sequence. Its blocks are reserved. Valid until the next call. Throws
  /// std::bad_alloc where the system has no memory: what runs must be removed before the next call.
  std::span<const ScheduledSequence> schedule();
  /// Copies of blocks that the step makes before it writes.
  std::span<const BlockCopy> copies() const { return copies_; }
  /// What the step computes, for the cost model.
  const StepWork& work() const { return work_; }
  /// The step was computed: counts its tokens, and makes the blocks that became full findable.
  void complete();

  /// Makes a choice of a sequence whose tokens are all computed: `child`, which has the same tokens and owner and an
  /// empty sequence of the cache with room for them, runs on from there in a seat that the parent held for it.
  /// Allocates nothing.
  void fork(Sequence& parent, Sequence& child);
  /// The same in the parent's own seat; the parent is no longer the scheduler's.
  void replace(Sequence& parent, Sequence& child);

  /// Its lists are in order of rank, and its counts agree with them.
  Result<void> check_integrity() const;

  bool empty() const { return waiting_.empty() && running_.empty(); }
  const Limits& limits() const { return limits_; }
  std::span<Sequence* const> running() const { return running_; }
  int num_waiting() const { return static_cast<int>(waiting_.size()); }
  int num_running() const { return static_cast<int>(running_.size()); }
  /// Sequences that the last schedule() admitted for the first time.
  std::span<Sequence* const> newly_admitted() const { return newly_admitted_; }
  std::uint64_t num_preemptions() const { return num_preemptions_; }
  std::uint64_t num_preempted_blocks() const { return num_preempted_blocks_; }
  std::uint64_t num_computed_tokens() const { return num_computed_tokens_; }
  std::uint64_t num_prompt_tokens() const { return num_prompt_tokens_; }
  /// Of these, found computed by others.
  std::uint64_t num_cached_tokens() const { return num_cached_tokens_; }
  /// Of these, looked for in the prefix cache.
  std::uint64_t num_looked_for_tokens() const { return num_looked_for_tokens_; }

 private:
  /// Who computes a block in this step.
  struct Claim {
    BlockHash block;
    Sequence* owner;
  };

  // scheduler.cc: the step
  void begin_step();
  void schedule_by_policy();
  bool is_urgent() const;
  void schedule_decodes(bool only_aged, bool within_time);
  bool schedule_decode(Sequence& sequence);
  void commit(Sequence& sequence, int end);
  void go_on(const Sequence& parent, Sequence& child);
  void reserve(const Sequence& sequence, int end);
  void plan(Sequence& sequence, int num_tokens, const PrefillChunk& chunk);
  bool in_time(const StepWork& more) const;

  // scheduler_admission.cc
  void admit();
  bool could_have_seats(const Sequence& sequence) const;
  bool take_seats(const Sequence& sequence);
  Sequence* seat_victim(const Sequence& sequence, const Sequence* before) const;
  bool start(Sequence& sequence);
  bool failed_before(const Sequence& sequence) const;
  bool has_room_to_start(const Sequence& sequence);
  void begin_prefill(Sequence& sequence);
  void count_cached(Sequence& sequence);
  int extend_prefix(Sequence& sequence);

  // scheduler_prompts.cc
  void attach_published();
  void claim_begun_blocks();
  void schedule_prompts();
  bool schedule_prompt(Sequence& sequence);
  Sequence* owner_of_next_block(const Sequence& sequence) const;
  void claim(Sequence& sequence, int end);
  int rows_in_time(const Sequence& sequence, int rows) const;
  bool schedule_chunk(Sequence& sequence, int max_rows);
  void schedule_best();

  // scheduler_preemption.cc
  bool make_room(const Sequence& sequence, bool admits);
  bool could_make_room(const Sequence& sequence);
  Sequence* victim_for(const Sequence& sequence, bool admits, const Sequence* before) const;
  void set_aside(Sequence& victim);
  void give_tail(Sequence& victim);
  void give_all(Sequence& victim);
  void let_go(Sequence& sequence);

  // scheduler_room.cc
  int blocks_for(std::int64_t num_tokens) const;
  int promised_to(const Sequence& sequence, int group) const;
  void count_promises();
  void add_promises(const Sequence& sequence, int sign);
  int room(int group) const;
  bool has_room() const;
  void need_blocks(const Sequence& sequence, int end);
  int rows_that_fit(const Sequence& sequence) const;

  Limits limits_;
  PrefillConfig prefill_config_;
  PagedKvCache& kv_;
  const CostModel* cost_;
  OwnerShares owners_;  // of all sequences
  DecodeTurns turns_;
  std::vector<Sequence*> waiting_;  // best rank first
  std::vector<Sequence*> running_;  // admitted; best rank first
  std::vector<Sequence*> prompts_;  // of this step, in the order in which they get rows
  std::vector<Claim> claims_;       // of this step
  std::vector<ScheduledSequence> plan_;
  std::vector<BlockCopy> copies_;
  std::vector<int> promised_;  // [groups] blocks that running prompts will still take, of the free ones
  std::vector<int> needed_;    // [groups] blocks that somebody asks for
  std::vector<int> missing_;   // [groups] scratch: of these, how many are still to be found
  StepWork work_;              // of this step
  std::uint64_t step_ = 0;
  int seats_known_ = 0;  // of all sequences
  int seats_taken_ = 0;  // of running ones
  int seats_begun_ = 0;  // of these and of those that were set aside
  int tokens_left_ = 0;  // of this step
  double budget_ms_ = 0;
  bool plans_prompts_ = false;             // this step has prompt rows
  std::vector<Sequence*> newly_admitted_;  // in this step
  int num_holding_ = 0;                    // waiting sequences that hold blocks
  // The last admission that found no room, and what there was then: until something changes it finds none again.
  const Sequence* failed_ = nullptr;
  std::vector<int> failed_room_;  // [groups]
  std::uint64_t failed_publications_ = 0;
  std::uint64_t publications_ = 0;
  std::uint64_t num_preemptions_ = 0, num_preempted_blocks_ = 0;
  std::uint64_t num_computed_tokens_ = 0, num_prompt_tokens_ = 0, num_cached_tokens_ = 0, num_looked_for_tokens_ = 0;
};

/// Keeps a list of sequences in order of rank.
void insert_by_rank(std::vector<Sequence*>& sequences, Sequence& sequence);

/// Blocks that nobody else holds: those that become free when the sequence gives them back.
int num_held_alone(const BlockTable& table, const BlockPool& pool);

}  // namespace octavo
