// Prefixes that a store on disk keeps (kv_store/kv_store.h): who waits for a read, and whose blocks are read or
// written.
//
// A sequence that could be admitted looks into the store for what goes on after what memory has. Where that takes less
// time to read than to compute, it waits until the read has ended, and whoever needs the same blocks waits with it;
// then it waits to be admitted again, and finds the blocks as those of a prefix. A prefix is written when it is
// computed, and when an answer ends, if it would take long to compute again.
//
// Blocks that are read or written belong to a sequence of the cache that nobody advances. They are promised to nobody,
// and lie in what a step leaves free; where a step may be short of blocks, all reads and writes end before it
// (make_room()), so that the scheduler never waits for a disk.
//
// Owned by the engine; only the thread that drives it may call it.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "engine/schedule/cost_model.h"
#include "engine/schedule/prefix_reads.h"
#include "engine/schedule/scheduler.h"
#include "engine/schedule/sequence.h"
#include "kv/kv_cache_manager.h"
#include "kv_store/kv_store.h"

namespace octavo {

class StoredPrefixes final : public PrefixReads {
 public:
  /// All of these must outlive it.
  struct Parts {
    KvStore& store;
    KvCacheManager& kv;
    Scheduler& scheduler;
    const CostModel& cost;
  };
  /// What takes less than `min_compute_s` to compute again is not written. 0: all is, and read whatever that takes.
  StoredPrefixes(const Parts& parts, double min_compute_s);
  /// Ends what has not ended.
  ~StoredPrefixes() override;
  StoredPrefixes(const StoredPrefixes&) = delete;
  StoredPrefixes& operator=(const StoredPrefixes&) = delete;

  bool wait_for_read(Sequence& sequence) override;
  int num_waiting() const override { return num_waiting_; }
  int num_waiting_choices() const override { return num_waiting_choices_; }
  /// A sequence does not wait any more; the read goes on. False: it did not wait.
  bool forget(const Sequence& sequence);
  /// Writes the blocks of a sequence that can be found. Nothing where that is not worth its while, writes have had
  /// their share of processor time, or no memory is left for it.
  void write(const Sequence& sequence);

  /// Whether steps are computed now: writes may take more time while none is.
  void set_busy(bool is_busy);
  /// Takes what has ended: what was read can be found, what was held is given back.
  void collect();
  /// A sequence whose read has ended, well or not; null: there is none.
  Sequence* next_ready();
  /// All reads and writes end where the next step may be short of blocks.
  void make_room();
  /// Until something has ended, `most` at most.
  void wait(std::chrono::milliseconds most) { parts_.store.wait(most); }
  /// Until all writes have ended, `most` at most.
  void finish_writes(std::chrono::seconds most);

 private:
  /// A read or a write.
  struct Move {
    SequenceId kv = 0;  // holds the blocks
    bool is_read = false;
    int num_blocks = 0, num_known = 0;  // of the prefix, and those that memory had
    PrefixName name = {};               // of a read, as the next
    BlockChain chain = {};
    std::vector<Sequence*> waiting = {};
  };

  bool pays(const Sequence& sequence, int known, const KvStore::Found& found) const;
  double compute_s(const Sequence& sequence, int first, int end) const;
  Move* read_of(const Sequence& sequence, int known);
  bool begin_read(Sequence& sequence, SequenceId kv, int known, int num_blocks);
  void begin(KvStore::Job job, Move move);
  bool reserve(SequenceId kv, int first, int end);
  bool has_spare(std::span<const int> needed);
  PrefixName name_of(const Sequence& sequence, int num_blocks) const;
  std::vector<HeldBlock> held_blocks(SequenceId kv, int first) const;
  void publish(Move& read);
  void end(KvStore::Job job, bool is_ok);
  void count_waiting(const Sequence& sequence, int sign);

  Parts parts_;
  const double min_compute_s_;
  std::map<KvStore::Job, Move> moves_;
  std::vector<Sequence*> ready_;
  bool is_busy_ = false;
  int num_waiting_ = 0, num_waiting_choices_ = 0;  // for a read, or in ready_
  std::vector<KvStore::Done> done_;                // scratch of collect()
  std::vector<int> spare_, needed_;                // [pools] scratch
  const std::vector<int> none_;                    // [pools] 0
};

}  // namespace octavo
