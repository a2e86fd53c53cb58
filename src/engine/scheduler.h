// Decides which sequences advance in a step, and by how many tokens each: integers only, no tensors.
//
// Owned by the engine; only the thread that drives it may call it. It also hands out KV blocks, because who may run is
// a question of memory:
// - Admission, oldest first: a sequence waits until the blocks of all its tokens and one more are free (less where it
//   can never need that many), and then has them. So a prompt in chunks never runs out half way.
// - Decode rows come first, oldest first. One that cannot grow takes the blocks of the youngest admitted sequence,
// which
//   goes back to waiting and is computed anew later with the same result; if it is the youngest itself, it goes.
//   The oldest is never a victim, and a victim never makes room for a younger one, so every sequence ends.
// - Prompt rows share what is left of the step: fewest uncomputed tokens first, but one that was passed over
//   kMaxStepsWaited times goes before those that were not.
// No room is an outcome, not an error. A sequence whose max_cached exceeds the pools must not be added.
#pragma once

#include <span>
#include <vector>

#include "engine/sequence.h"
#include "octavo/kv/block_pool.h"

namespace octavo {

struct ScheduledSequence {
  Sequence* sequence;
  int num_tokens;  // advances by tokens [num_computed, num_computed + num_tokens)
};

class Scheduler {
 public:
  struct Limits {
    int max_step_tokens = 512;  // rows in one step, at least 1
    int max_sequences = 256;    // sequences in one step, at least 1
  };
  static constexpr int kMaxStepsWaited = 32;

  /// One pool an attention group; they outlive the scheduler.
  Scheduler(const Limits& limits, std::span<BlockPool> pools);

  /// Takes a sequence with at least one token not computed and one empty table a pool. It must stay where it is until
  /// remove().
  void add(Sequence& sequence);
  /// Forgets a sequence and gives its blocks back. One that was never added is a bug of the caller (CHECK).
  void remove(Sequence& sequence);

  /// The next step: decode rows, then prompt rows; empty only when there is no sequence. Valid until the next call.
  /// The caller adds the counts to num_computed when the step is done.
  std::span<const ScheduledSequence> schedule();

  bool empty() const { return waiting_.empty() && running_.empty(); }
  int num_waiting() const { return static_cast<int>(waiting_.size()); }
  int num_running() const { return static_cast<int>(running_.size()); }
  std::uint64_t num_preemptions() const { return num_preemptions_; }

 private:
  void schedule_decodes();
  void admit();
  void schedule_prompts();
  void plan(Sequence& sequence, int num_tokens);
  bool grow(Sequence& sequence);
  bool has_room_to_start(const Sequence& sequence) const;
  void preempt_youngest();

  Limits limits_;
  std::span<BlockPool> pools_;
  std::vector<Sequence*> waiting_;  // oldest first
  std::vector<Sequence*> running_;  // admitted; oldest first
  std::vector<Sequence*> prompts_;  // of this step, in the order in which they get rows
  std::vector<ScheduledSequence> plan_;
  int tokens_left_ = 0;  // of this step
  std::uint64_t num_preemptions_ = 0;
};

}  // namespace octavo
