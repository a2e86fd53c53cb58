// Decides which sequences advance in a step, and by how many tokens each: integers only, no tensors.
//
// Owned by the engine; only the thread that drives it may call it. It also hands out KV blocks, because who may run is
// a question of memory. Older means: an earlier request, and among the choices of one request the lower index.
// - Admission, oldest first. A sequence attaches to the blocks of its prefix that are cached, then waits until the
//   blocks of all its other tokens and one more (one more a choice) can be promised to it; less where it can never need
//   that many. Where there is no room it lets go of what it attached. In a windowed group the promise is what it holds
//   at most at one time: its window and the rows of one step.
// - A promise is kept free for its prompt: decodes, younger prompts and admissions do not touch it. So a prompt in
//   chunks does not run out half way.
// - Decode rows come first, oldest first. One that cannot grow takes the blocks of the youngest running sequence, which
//   goes back to waiting and is computed anew later with the same result, as far as it is not cached; if it is the
//   youngest itself, it goes. The oldest is never a victim, and a victim never makes room for a younger one, so every
//   sequence ends.
// - Prompt rows share what is left of the step: fewest uncomputed tokens first, but one that was passed over
//   kMaxStepsWaited times goes before those that were not. Each prompt's PrefillScheduler cuts its chunks, to what is
//   left of the step and to what its windowed groups have room for. A prompt without rows so far looks for its prefix
//   again when others have published.
// - Sharing in windowed groups can leave a promise short for a while: blocks that a prompt gives back stay with others.
//   Such a prompt gets fewer rows. Should no sequence have room for any, the oldest takes blocks as a decode does.
// No room is an outcome, not an error. A sequence whose max_cached exceeds the cache must not be added.
#pragma once

#include <span>
#include <vector>

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
  };
  static constexpr int kMaxStepsWaited = 32;

  /// The cache must outlive the scheduler.
  Scheduler(const Limits& limits, PagedKvCache& kv);

  /// Takes a sequence with at least one token, none computed, and an empty sequence of the cache. It must stay where it
  /// is until remove().
  void add(Sequence& sequence);
  /// Forgets a sequence that it was given. The caller drops its sequence in the cache.
  void remove(Sequence& sequence);

  /// The next step: decode rows, then prompt rows; empty only when there is no sequence. Their blocks are reserved.
  /// Valid until the next call.
  std::span<const ScheduledSequence> schedule();
  /// Copies of blocks that the step makes before it writes.
  std::span<const BlockCopy> copies() const { return copies_; }
  /// The step was computed: counts its tokens, and makes the blocks that became full findable.
  void complete();

  /// Makes a choice of a sequence whose tokens are all computed: `child`, which has the same tokens and an empty
  /// sequence of the cache, runs on from there in a seat that the parent held for it.
  void fork(Sequence& parent, Sequence& child);

  bool empty() const { return waiting_.empty() && running_.empty(); }
  const Limits& limits() const { return limits_; }
  int num_waiting() const { return static_cast<int>(waiting_.size()); }
  int num_running() const { return static_cast<int>(running_.size()); }
  std::uint64_t num_preemptions() const { return num_preemptions_; }
  std::uint64_t num_computed_tokens() const { return num_computed_tokens_; }
  std::uint64_t num_cached_tokens() const { return num_cached_tokens_; }

 private:
  // Room
  int blocks_for(std::int64_t num_tokens) const;
  int promised_to(const Sequence& sequence, int group) const;
  void count_promises();
  void add_promises(const Sequence& sequence, int sign);
  int room(int group) const;
  bool has_room_to_start(const Sequence& sequence) const;
  int rows_that_fit(const Sequence& sequence) const;

  // The step
  void look_for_prefixes();
  void schedule_decodes();
  bool schedule_decode(Sequence& sequence);
  void admit();
  bool start(Sequence& sequence);
  void schedule_prompts();
  void schedule_oldest();
  void schedule_chunk(Sequence& sequence, int max_rows);
  int attach(Sequence& sequence);
  void let_go(Sequence& sequence);
  void preempt_youngest();
  void commit(Sequence& sequence, int end);
  void reserve(const Sequence& sequence, int end);
  void plan(Sequence& sequence, int num_tokens, const PrefillChunk& chunk);

  Limits limits_;
  PrefillConfig prefill_config_;
  PagedKvCache& kv_;
  std::vector<Sequence*> waiting_;  // oldest first
  std::vector<Sequence*> running_;  // admitted; oldest first
  std::vector<Sequence*> prompts_;  // of this step, in the order in which they get rows
  std::vector<ScheduledSequence> plan_;
  std::vector<BlockCopy> copies_;
  std::vector<int> promised_;  // [groups] blocks that running prompts will still take, of the free ones
  int seats_known_ = 0;        // of all sequences
  int seats_taken_ = 0;        // of running ones
  int tokens_left_ = 0;        // of this step
  std::uint64_t publications_ = 0;
  std::uint64_t num_preemptions_ = 0, num_computed_tokens_ = 0, num_cached_tokens_ = 0;
};

}  // namespace octavo
