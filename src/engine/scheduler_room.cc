// How many blocks the scheduler may give to whom.
#include <algorithm>

#include "engine/scheduler.h"

namespace octavo {
namespace {

/// Blocks of `block_size` positions that `num_positions` consecutive ones can touch, wherever they begin.
std::int64_t blocks_touched(std::int64_t num_positions, std::int64_t block_size) {
  return num_positions <= 0 ? 0 : (num_positions + block_size - 2) / block_size + 1;
}

int num_held(const BlockTable& table) { return table.num_blocks() - table.first_held(); }

/// Blocks that nobody else holds: those that become free when the sequence gives them back.
int num_held_alone(const BlockTable& table, const BlockPool& pool) {
  const std::span<const BlockId> held = table.block_ids().subspan(static_cast<std::size_t>(table.first_held()));
  return static_cast<int>(std::ranges::count_if(held, [&](BlockId id) { return pool.references(id) == 1; }));
}

}  // namespace

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
    promised_[static_cast<std::size_t>(group)] += sign * promised_to(sequence, group);
  }
}

void Scheduler::count_promises() {
  std::ranges::fill(promised_, 0);
  for (const Sequence* sequence : running_) {
    if (sequence->in_prefill()) add_promises(*sequence, 1);
  }
}

/// Free blocks that are promised to nobody.
int Scheduler::room(int group) const {
  return std::max(0, kv_.pool(group).free_count() - promised_[static_cast<std::size_t>(group)]);
}

bool Scheduler::has_room_to_start(const Sequence& sequence) const {
  const bool grows = blocks_for(sequence.max_cached) > blocks_for(sequence.num_tokens());
  // Each choice will write into a block of its own.
  const int spare = sequence.num_forks > 0 ? sequence.seats() : grows ? 1 : 0;
  for (int group = 0; group < kv_.num_groups(); ++group) {
    const int most = kv_.pool(group).total_count() - num_held(kv_.table(sequence.kv, group));
    if (std::min(promised_to(sequence, group) + spare, most) > room(group)) return false;
  }
  return true;
}

/// Rows of a running prompt that this step has room for, in its budget and in every group.
int Scheduler::rows_that_fit(const Sequence& sequence) const {
  const int first = sequence.num_computed, block_size = kv_.block_size();
  int end = first + std::min(sequence.num_uncomputed(), tokens_left_);
  for (int group = 0; group < kv_.num_groups(); ++group) {
    const int of_others = promised_[static_cast<std::size_t>(group)] - promised_to(sequence, group);
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
