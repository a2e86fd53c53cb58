// The scheduler's sequences, waiting and running, each list in order of rank; and the places to run that they hold.
//
// A running sequence has its own place and those of its choices to come. A suspended one waits with the blocks that it
// still holds, and has no place until it is admitted again.
//
// Owned by the scheduler; only the thread that drives the engine may call it. Only add() allocates.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/error.h"
#include "engine/schedule/sequence.h"

namespace octavo {

class SequenceQueues {
 public:
  explicit SequenceQueues(int max_sequences);

  bool empty() const { return waiting_.empty() && running_.empty(); }
  /// The sequences in order of rank, the best first.
  std::span<Sequence* const> waiting() const { return waiting_; }
  std::span<Sequence* const> running() const { return running_; }

  int max_sequences() const { return max_sequences_; }
  int num_free() const { return max_sequences_ - choices_running_; }
  /// How many choices belong to running or suspended sequences.
  int choices_admitted() const { return choices_admitted_; }
  int choices_of_all() const { return choices_of_all_; }
  /// Whether a waiting sequence holds blocks.
  bool anybody_holds() const { return num_holding_ > 0; }

  /// Whether the step computes tokens of a sequence, as far as it is planned.
  bool has_rows(const Sequence& sequence) const { return sequence.notes.planned_in_step == step_; }
  std::uint64_t step() const { return step_; }
  /// Begins to schedule the next step.
  void begin_step() { ++step_; }

  /// Takes room for a sequence in both lists; throws std::bad_alloc, and nothing has changed then.
  void reserve_for(const Sequence& sequence);
  /// Adds a sequence to the waiting ones. There must be room for it.
  void add(Sequence& sequence);
  /// Removes a sequence from the list that has it.
  void remove(Sequence& sequence);
  /// Lets the first waiting sequence run. `was_holding`: it held blocks before it attached to some just now.
  void start_first(bool was_holding);
  /// Moves a running sequence to the waiting ones, with what it holds.
  void suspend(Sequence& sequence);
  /// Adds a running sequence in a place that its parent held and that is counted already.
  void add_child(Sequence& child);
  /// Gives the parent's own place to the child; the parent leaves the list.
  void replace(Sequence& parent, Sequence& child);
  /// Notes that a waiting sequence that held blocks now holds those of its first `num_tokens` tokens.
  void keep_computed(Sequence& sequence, int num_tokens);
  /// Sorts both lists after ranks have changed.
  void sort();

  /// Checks that the lists are in order of rank, and the counts agree with them.
  Result<void> check_integrity() const;

 private:
  int max_sequences_;
  std::uint64_t step_ = 0;
  std::vector<Sequence*> waiting_;
  std::vector<Sequence*> running_;
  int choices_of_all_ = 0;
  int choices_running_ = 0;   // choices of running sequences
  int choices_admitted_ = 0;  // these and those of suspended sequences
  int num_holding_ = 0;       // waiting sequences that hold blocks
};

}  // namespace octavo
