// Lets waiting sequences run: new ones, and those that continue after a preemption.
//
// Sequences are admitted by rank, and none overtakes another. A sequence is admitted when there are places to run for
// all its choices, and when blocks can be promised to it: those of its tokens that are not cached, and one to grow (one
// for each choice). It takes places and memory from others of worse rank where the rules allow that (preemption.h).
//
// Owned by the scheduler; only the thread that drives the engine may call it. Allocates nothing after construction: the
// list of admitted sequences has room for twice the sequences that may run and one more.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/schedule/block_budget.h"
#include "engine/schedule/preemption.h"
#include "engine/schedule/prefix_reads.h"
#include "engine/schedule/prefix_sharing.h"
#include "engine/schedule/sequence.h"
#include "engine/schedule/sequence_queues.h"
#include "kv/kv_cache_manager.h"

namespace octavo {

class Admission {
 public:
  /// All references must outlive it.
  struct Parts {
    KvCacheManager& kv;
    SequenceQueues& queues;
    BlockBudget& block_budget;
    PrefixSharing& sharing;
    Preemption& preemption;
  };
  explicit Admission(const Parts& parts);
  /// Lets `reads` read prefixes from now on; it must outlive this.
  void set_reads(PrefixReads& reads) { reads_ = &reads; }

  /// Admits all sequences that can be, best rank first. Appends those that are admitted for the first time to
  /// `newly_admitted`.
  void admit(std::vector<Sequence*>& newly_admitted);
  /// Whether a sequence waits that has a higher priority than a running one, or a better rank than a running one of
  /// another owner.
  bool is_urgent() const;
  /// Forgets a sequence that leaves the scheduler: another one may get its address.
  void forget(const Sequence& sequence);

 private:
  /// An admission that found no room, and the conditions then.
  struct Failure {
    const Sequence* sequence = nullptr;
    std::uint64_t num_publications = 0;
    std::vector<int> room;  // [groups]
  };

  bool could_run(const Sequence& sequence) const;
  bool make_room_to_run(const Sequence& sequence);
  Sequence* victim_to_run(const Sequence& sequence, const Sequence* before) const;
  bool try_start(Sequence& sequence, std::vector<Sequence*>& newly_admitted);
  bool has_room_to_start(const Sequence& sequence);
  bool is_read_first(Sequence& sequence);
  void give_back(Sequence& sequence);
  void start(Sequence& sequence, bool was_holding, std::vector<Sequence*>& newly_admitted);
  bool failed_before(const Sequence& sequence) const;
  void remember_failure(const Sequence& sequence);

  Parts parts_;
  PrefixReads* reads_ = nullptr;  // null: no prefixes are read
  std::vector<int> needed_;       // [groups] scratch of has_room_to_start()
  Failure last_failure_;          // it fails again until something changes
};

}  // namespace octavo
