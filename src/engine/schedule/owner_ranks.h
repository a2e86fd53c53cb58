// Ranks the sequences of several owners so that one who asks for much does not keep another waiting.
//
// Within an owner sequences go by their own rank: by age and priority. Between owners the choices count as well that a
// sequence's owner has before it, running or waiting. Each makes it kStepsPerChoice steps younger. When one of them is
// free, the sequence is as young as if it had come then, unless it has waited for longer than that. So the first
// sequences of all owners go before the second ones, and if there are fewer places to run than owners they take turns.
// Everything that the scheduler decides goes by rank, so places to run, memory and the order of admission are shared
// alike.
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
  /// Takes a sequence whose owner and own_rank are set; it has its rank from the next update_ranks() on. Takes room for
  /// `num_choices` choices, of this and of all other sequences; throws std::bad_alloc, and nothing has changed.
  void add(Sequence& sequence, std::size_t num_choices);
  /// `child` has its parent's owner, and runs in a place that the parent held for it. Allocates nothing.
  void add_fork(const Sequence& parent, Sequence& child);
  void remove(Sequence& sequence);
  /// Sets the ranks of all, at the beginning of step `step`. False: nobody has come or gone, and none has changed.
  bool update_ranks(std::int64_t step);

  /// It knows `num_sequences` sequences, in order, and counts them for their owners.
  Result<void> check_integrity(std::size_t num_sequences) const;

 private:
  void insert(Sequence& sequence);
  static std::int64_t virtual_arrival(const Sequence& sequence, std::int64_t step);

  std::map<std::string, OwnerCounts, std::less<>> owners_;
  std::vector<Sequence*> sequences_;  // best own rank first
  bool changed_ = false;              // somebody came or went since the last update_ranks()
};

}  // namespace octavo
