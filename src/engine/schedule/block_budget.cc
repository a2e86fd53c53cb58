#include "engine/schedule/block_budget.h"

#include <algorithm>

#include "base/to_size.h"

namespace octavo {
namespace {

/// The most blocks of `block_size` positions that `num_positions` consecutive positions can touch, wherever they begin.
std::int64_t blocks_touched(std::int64_t num_positions, std::int64_t block_size) {
  return num_positions <= 0 ? 0 : (num_positions + block_size - 2) / block_size + 1;
}

}  // namespace

BlockBudget::BlockBudget(const KvCacheManager& kv, const PinnedPrefixes& pins, int max_step_tokens)
    : kv_(kv), pins_(pins), max_step_tokens_(max_step_tokens), promised_(to_size(kv.num_pools())) {
  if (kv.has_snapshots()) holders_.resize(to_size(kv.pool(kv.num_groups()).total_count()));
}

int BlockBudget::blocks_for(std::int64_t num_tokens) const {
  const std::int64_t block_size = kv_.block_size();
  return static_cast<int>((num_tokens + block_size - 1) / block_size);
}

int BlockBudget::held_alone(const Sequence& sequence, int group) const {
  const BlockTable& table = kv_.table(sequence.kv, group);
  const BlockPool& pool = kv_.pool(group);
  const std::span<const BlockId> held = table.block_ids().subspan(to_size(table.first_held()));
  return static_cast<int>(std::ranges::count_if(held, [&](BlockId id) { return pool.references(id) == 1; }));
}

int BlockBudget::to_promise(const Sequence& sequence, int group) const {
  const int all = kv_.blocks_needed(sequence.kv, group, sequence.num_computed, sequence.num_tokens());
  if (group == kv_.num_groups()) return all + sequence.num_forks;  // snapshots: each choice will have its own
  const int window = kv_.group(group).window;
  if (window == 0) return all;
  // Within a step it holds its window and the step's rows; what the window has left behind is given back.
  const int at_a_time = std::max(max_step_tokens_, sequence.given.most_joint_rows(sequence.num_computed));
  const std::int64_t rows = std::min(sequence.num_uncomputed(), at_a_time);
  const std::int64_t span = blocks_touched(window - 1 + rows, kv_.block_size());
  const auto at_once = static_cast<int>(std::min<std::int64_t>(span, kv_.pool(group).total_count()));
  return std::clamp(at_once - held_alone(sequence, group), 0, all);
}

void BlockBudget::add_promise(const Sequence& sequence, int sign) {
  for (int group = 0; group < num_groups(); ++group) promised_[to_size(group)] += sign * to_promise(sequence, group);
}

void BlockBudget::count_promises(std::span<Sequence* const> running) {
  std::ranges::fill(promised_, 0);
  for (const Sequence* sequence : running) promise(*sequence);
  if (kv_.has_snapshots()) take_back_last_holders(running);
}

/// Takes promises back: all but the last holder of a shared state slot take a snapshot when they advance, and the last
/// one writes in place. Where all holders have a promise, one is too many, whichever is the last.
void BlockBudget::take_back_last_holders(std::span<Sequence* const> running) {
  const int pool = kv_.num_groups();
  std::ranges::fill(holders_, 0);
  for (const Sequence* sequence : running) {
    if (!sequence->is_catching_up()) continue;
    const std::optional<BlockId> state_slot = kv_.table(sequence->kv, pool).get(0);
    if (!state_slot) continue;
    const int holders = ++holders_[to_size(*state_slot)];
    if (holders > 1 && holders == kv_.pool(pool).references(*state_slot)) --promised_[to_size(pool)];
  }
}

int BlockBudget::room(int group) const { return std::max(0, kv_.pool(group).free_count() - promised_[to_size(group)]); }

bool BlockBudget::has_room_for(std::span<const int> needed) const {
  for (int group = 0; group < num_groups(); ++group)
    if (needed[to_size(group)] > room(group)) return false;
  return true;
}

void BlockBudget::count_to_advance(const Sequence& sequence, int num_tokens, std::span<int> needed) const {
  const int first = sequence.num_computed;
  for (int group = 0; group < num_groups(); ++group)
    needed[to_size(group)] = kv_.blocks_needed(sequence.kv, group, first, first + num_tokens);
}

void BlockBudget::count_to_start(const Sequence& sequence, std::span<int> needed) const {
  const bool grows = blocks_for(sequence.params.max_cached) > blocks_for(sequence.num_tokens());
  // Each choice will write into a block of its own.
  const int spare = sequence.num_forks > 0 ? sequence.num_choices() : grows ? 1 : 0;
  for (int group = 0; group < num_groups(); ++group) {
    const BlockTable& table = kv_.table(sequence.kv, group);
    // Pinned blocks that it shares are subtracted twice, which leaves less to spare, and still all that it needs.
    const int most =
        kv_.pool(group).total_count() - pins_.num_blocks(group) - (table.num_blocks() - table.first_held());
    const int promised = to_promise(sequence, group);
    // Snapshots are promised to choices already. One more is left for the checkpoint that others will continue from.
    const bool is_state = group == kv_.num_groups();
    const bool begins =
        promised > 0 || (is_state && table.num_blocks() > 0 && kv_.pool(group).is_cached(*table.get(0)));
    const int beside = !is_state ? spare : kv_.keeps_checkpoints() && begins ? 1 : 0;
    needed[to_size(group)] = std::min(promised + beside, most);
  }
}

int BlockBudget::tokens_that_fit(const Sequence& sequence, int num_tokens) const {
  const int first = sequence.num_computed, block_size = kv_.block_size();
  int end = first + num_tokens;
  for (int group = 0; group < num_groups(); ++group) {
    const int of_others = promised_[to_size(group)] - to_promise(sequence, group);
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
