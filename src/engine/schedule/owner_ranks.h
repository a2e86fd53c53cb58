// Ranks the sequences of several owners, so that an owner who asks for much does not keep others waiting.
//
// Within an owner sequences go by their own rank: by age and priority. Between owners, a sequence also counts the
// choices that its owner has before it, running or waiting: each makes it kStepsPerChoice steps younger. When one of
// these ends, the sequence ranks as if it had come then, unless it has waited for longer than that. So the first
// sequences of all owners go before the second ones, and owners take turns if there are fewer places to run than
// owners. Everything in the scheduler goes by rank, so places to run, memory and the order of admission are shared in
// the same way.
//
// The flows of an owner share its places by the same rule: they say in which order its sequences count. So an owner
// gets no more by having more flows; none is suspended for another.
//
// Owned by the scheduler; only the thread that drives the engine may call it.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
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
  using Counts = std::map<std::string, OwnerCounts, std::less<>>;
  struct Owner {
    OwnerCounts counts = {};
    OwnerCounts unnamed = {};  // of the flow without a name
    Counts flows = {};
  };

  void insert(Sequence& sequence);
  static OwnerCounts& flow_of(Owner& owner, std::string_view name);
  static void begin_count(OwnerCounts& counts);
  static std::int64_t arrival_after(const Sequence& sequence, const OwnerCounts& counts,
                                    std::optional<std::int64_t> before, std::int64_t step);
  const std::vector<Sequence*>& in_order(std::int64_t step);

  std::map<std::string, Owner, std::less<>> owners_;
  std::size_t num_in_flows_ = 0;      // sequences whose flow has a name
  std::vector<Sequence*> sequences_;  // in order of their own ranks, best first
  std::vector<Sequence*> by_flows_;   // scratch of in_order()
  bool changed_ = false;              // a sequence came or went since the last update_ranks()
};

}  // namespace octavo
