// The prefixes that a store on disk keeps (kv_store/kv_store.h): which sequences wait for a read, and whose blocks are
// read or written.
//
// A sequence that could be admitted searches the store for what follows the part of its prefix in memory. Where reading
// takes less time than computing, it waits until the read has ended, together with all that need the same blocks. Then
// it waits to be admitted again, and finds the blocks as a prefix. A prefix is written when it is computed, and when an
// answer ends, if computing it again would take long.
//
// Blocks that are read or written belong to a sequence of the cache that never advances. They are promised to nobody,
// and are taken of what a step leaves free; where a step may be short of blocks, all reads and writes end before it
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
  /// All references must outlive it.
  struct Parts {
    KvStore& store;
    KvCacheManager& kv;
    Scheduler& scheduler;
    const CostModel& cost;
  };
  /// A prefix computed again in less than `min_compute_s` is not written. 0: everything is written, and read whatever
  /// that takes.
  StoredPrefixes(const Parts& parts, double min_compute_s);
  /// Ends all reads and writes.
  ~StoredPrefixes() override;
  StoredPrefixes(const StoredPrefixes&) = delete;
  StoredPrefixes& operator=(const StoredPrefixes&) = delete;

  bool wait_for_read(Sequence& sequence) override;
  int num_waiting() const override { return num_waiting_; }
  int num_waiting_choices() const override { return num_waiting_choices_; }
  /// Lets a sequence stop waiting; the read goes on. False: it did not wait.
  bool forget(const Sequence& sequence);
  /// Writes the blocks of a sequence that others can find. Does nothing where that does not pay, where writes have had
  /// their share of processor time, or where there is no memory for it.
  void write(const Sequence& sequence);

  /// Says whether steps are being computed: writes may take more time while none is.
  void set_busy(bool is_busy);
  /// Takes reads and writes that have ended: what was read can be found now, and held blocks are given back.
  void collect();
  /// The next sequence whose read has ended, with or without success; null: there is none.
  Sequence* next_ready();
  /// Ends all reads and writes where the next step may be short of blocks.
  void make_room();
  /// Waits until a read or a write has ended, `most` at most.
  void wait(std::chrono::milliseconds most) { parts_.store.wait(most); }
  /// Waits until all writes have ended, `most` at most.
  void finish_writes(std::chrono::seconds most);

 private:
  /// A read or a write.
  struct Move {
    SequenceId kv = 0;  // holds the blocks
    bool is_read = false;
    int num_blocks = 0, num_known = 0;  // blocks of the prefix, and how many of them memory had
    PrefixName name = {};               // for a read, as the next members
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
  const std::vector<int> none_;                    // [pools], all 0
};

}  // namespace octavo
