// The scheduler's sequences: those that wait and those that run, each in order of rank, and the places to run that they
// hold.
//
// A running sequence has its own place and those of its choices to come. One that was suspended waits with the blocks
// that it still holds, and has no place until it is admitted again.
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
  /// Best rank first.
  std::span<Sequence* const> waiting() const { return waiting_; }
  std::span<Sequence* const> running() const { return running_; }

  int max_sequences() const { return max_sequences_; }
  int num_free() const { return max_sequences_ - choices_running_; }
  /// Choices of running sequences and of those that were suspended.
  int choices_admitted() const { return choices_admitted_; }
  int choices_of_all() const { return choices_of_all_; }
  /// Some waiting sequence holds blocks.
  bool anybody_holds() const { return num_holding_ > 0; }

  /// Whether the step that is scheduled computes tokens of a sequence, as far as it is planned.
  bool has_rows(const Sequence& sequence) const { return sequence.notes.planned_in_step == step_; }
  std::uint64_t step() const { return step_; }
  /// The next step is scheduled.
  void begin_step() { ++step_; }

  /// Takes room for a sequence wherever it may have to go; throws std::bad_alloc, and nothing has changed.
  void reserve_for(const Sequence& sequence);
  /// It waits from now on. There is room for it.
  void add(Sequence& sequence);
  /// It is in neither queue from now on.
  void remove(Sequence& sequence);
  /// The waiting sequence of best rank runs from now on. `was_holding`: before it attached to anything just now.
  void start_first(bool was_holding);
  /// A running sequence waits from now on, with what it holds.
  void suspend(Sequence& sequence);
  /// It runs in a place that its parent held, and that is counted.
  void add_child(Sequence& child);
  /// The child takes the parent's own place; the parent is in no queue from now on.
  void replace(Sequence& parent, Sequence& child);
  /// A waiting sequence that held blocks holds those of its first `num_tokens` tokens.
  void keep_computed(Sequence& sequence, int num_tokens);
  /// Ranks have changed.
  void sort();

  /// The lists are in order of rank, and the counts agree with them.
  Result<void> check_integrity() const;

 private:
  int max_sequences_;
  std::uint64_t step_ = 0;
  std::vector<Sequence*> waiting_;
  std::vector<Sequence*> running_;
  int choices_of_all_ = 0;
  int choices_running_ = 0;   // of running ones
  int choices_admitted_ = 0;  // of these and of suspended ones
  int num_holding_ = 0;       // waiting sequences that hold blocks
};

}  // namespace octavo
