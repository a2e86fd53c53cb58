// Ranks the sequences of several owners, so that an owner who asks for much does not keep others waiting.
//
// Within an owner sequences go by their own rank: by age and priority. Between owners, a sequence also counts the
// choices that its owner has before it, running or waiting: each makes it kStepsPerChoice steps younger. When one of
// these ends, the sequence ranks as if it had come then, unless it has waited for longer than that. So the first
// sequences of all owners go before the second ones, and owners take turns if there are fewer places to run than
// owners. Everything in the scheduler goes by rank, so places to run, memory and the order of admission are shared in
// the same way.
//
// Owned by the scheduler; only the thread that drives the engine may call it.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "base/error.h"
#include "engine/schedule/sequence.h"

namespace octavo {

class OwnerRanks {
 public:
  /// Adds a sequence whose owner and own_rank are set; it gets its rank with the next update_ranks(). Takes room for
  /// `num_choices` choices, of this and all other sequences. Throws std::bad_alloc, and nothing has changed then.
  void add(Sequence& sequence, std::size_t num_choices);
  /// Adds a choice that has forked from `parent`: it has the same owner, and runs in a place that the parent held.
  /// Allocates nothing.
  void add_fork(const Sequence& parent, Sequence& child);
  void remove(Sequence& sequence);
  /// Sets all ranks, at the beginning of step `step`. False: no sequence has come, gone or changed its rank.
  bool update_ranks(std::int64_t step);

  /// Checks that it has `num_sequences` sequences, in order, and that its counts agree.
  Result<void> check_integrity(std::size_t num_sequences) const;

 private:
  void insert(Sequence& sequence);
  static std::int64_t virtual_arrival(const Sequence& sequence, std::int64_t step);

  std::map<std::string, OwnerCounts, std::less<>> owners_;
  std::vector<Sequence*> sequences_;  // in order of their own ranks, best first
  bool changed_ = false;              // a sequence came or went since the last update_ranks()
};

}  // namespace octavo
