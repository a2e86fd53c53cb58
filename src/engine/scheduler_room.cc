// How many blocks the scheduler may give to whom.
#include <algorithm>

#include "base/error.h"
#include "base/to_size.h"
#include "engine/scheduler.h"

namespace octavo {
namespace {

/// Blocks of `block_size` positions that `num_positions` consecutive ones can touch, wherever they begin.
std::int64_t blocks_touched(std::int64_t num_positions, std::int64_t block_size) {
  return num_positions <= 0 ? 0 : (num_positions + block_size - 2) / block_size + 1;
}

}  // namespace

int num_held_alone(const BlockTable& table, const BlockPool& pool) {
  const std::span<const BlockId> held = table.block_ids().subspan(to_size(table.first_held()));
  return static_cast<int>(std::ranges::count_if(held, [&](BlockId id) { return pool.references(id) == 1; }));
}

int Scheduler::blocks_for(std::int64_t num_tokens) const {
  const std::int64_t block_size = kv_.block_size();
  return static_cast<int>((num_tokens + block_size - 1) / block_size);
}

/// Blocks that a sequence in its prefill may have to take, at one time, until all its tokens are computed.
int Scheduler::promised_to(const Sequence& sequence, int group) const {
  const int all = kv_.blocks_needed(sequence.kv, group, sequence.num_computed, sequence.num_tokens());
  const int window = kv_.group(group).window;
  if (window == 0) return all;
  // Within a step it holds its window and the step's rows; what it took before and leaves behind, it gives back.
  const std::int64_t rows = std::min(sequence.num_uncomputed(), limits_.max_step_tokens);
  const std::int64_t span = blocks_touched(window - 1 + rows, kv_.block_size());
  const auto at_once = static_cast<int>(std::min<std::int64_t>(span, kv_.pool(group).total_count()));
  return std::clamp(at_once - num_held_alone(kv_.table(sequence.kv, group), kv_.pool(group)), 0, all);
}

void Scheduler::add_promises(const Sequence& sequence, int sign) {
  for (int group = 0; group < kv_.num_groups(); ++group) {
    promised_[to_size(group)] += sign * promised_to(sequence, group);
  }
}

void Scheduler::count_promises() {
  std::ranges::fill(promised_, 0);
  for (const Sequence* sequence : running_) {
    if (sequence->in_prefill()) add_promises(*sequence, 1);
  }
}

/// Free blocks that are promised to nobody.
int Scheduler::room(int group) const { return std::max(0, kv_.pool(group).free_count() - promised_[to_size(group)]); }

/// For `needed_`.
bool Scheduler::has_room() const {
  for (int group = 0; group < kv_.num_groups(); ++group)
    if (needed_[to_size(group)] > room(group)) return false;
  return true;
}

/// `needed_`: what a sequence takes to compute its tokens up to `end`.
void Scheduler::need_blocks(const Sequence& sequence, int end) {
  for (int group = 0; group < kv_.num_groups(); ++group)
    needed_[to_size(group)] = kv_.blocks_needed(sequence.kv, group, sequence.num_computed, end);
}

Result<void> Scheduler::check_integrity() const {
  int taken = 0, known = 0, begun = 0, holding = 0;
  for (const Sequence* sequence : running_) taken += sequence->seats();
  for (const Sequence* sequence : waiting_) {
    known += sequence->seats();
    begun += sequence->was_admitted ? sequence->seats() : 0;
    holding += sequence->num_computed > 0 ? 1 : 0;
  }
  if (taken != seats_taken_ || taken + known != seats_known_ || taken > limits_.max_sequences) {
    return fail("scheduler: found {} seats taken of {} and {} known, it counts {} and {}", taken, limits_.max_sequences,
                taken + known, seats_taken_, seats_known_);
  }
  if (taken + begun != seats_begun_ || holding != num_holding_) {
    return fail("scheduler: found {} seats begun and {} sequences that wait with blocks, it counts {} and {}",
                taken + begun, holding, seats_begun_, num_holding_);
  }
  if (!std::ranges::is_sorted(running_, {}, &Sequence::rank) || !std::ranges::is_sorted(waiting_, {}, &Sequence::rank))
    return fail("scheduler: sequences are not in order of rank");
  return owners_.check_integrity(running_.size() + waiting_.size());
}

/// Rows of a running prompt that this step has room for, in its budget and in every group.
int Scheduler::rows_that_fit(const Sequence& sequence) const {
  const int first = sequence.num_computed, block_size = kv_.block_size();
  int end = first + std::min(sequence.num_uncomputed(), tokens_left_);
  for (int group = 0; group < kv_.num_groups(); ++group) {
    const int of_others = promised_[to_size(group)] - promised_to(sequence, group);
    const int available = std::max(0, kv_.pool(group).free_count() - of_others);
    while (end > first) {
      const int excess = kv_.blocks_needed(sequence.kv, group, first, end) - available;
      if (excess <= 0) break;
      end = (blocks_for(end) - excess) * block_size;
    }
  }
  return std::max(0, end - first);
}

}  // namespace octavo
