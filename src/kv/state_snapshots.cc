#include "kv/state_snapshots.h"

#include <algorithm>
#include <utility>

#include "base/error.h"

namespace octavo {

StateSnapshots::StateSnapshots(int number, int num_snapshots)
    : number_(number), pool_(num_snapshots), checkpoints_(to_size(num_snapshots)) {
  pool_.on_evict([this](BlockId snapshot) { give_up(snapshot); });
}

BlockTable StateSnapshots::make_state_slot() {
  BlockTable state_slot(pool_, 1);
  if (exist()) state_slot.reserve_ids(1);
  return state_slot;
}

int StateSnapshots::needed(const BlockTable& state_slot) const {
  if (!exist()) return 0;
  return state_slot.num_blocks() == 0 || pool_.references(state_slot.block_ids().front()) > 1 ? 1 : 0;
}

// The last holder of a checkpoint copies it where it is worth more than the least of the free ones: the old snapshot
// becomes a free one that is cached. So a copy that is not needed leaves as many free as before, and breaks no promise.
void StateSnapshots::take(BlockTable& state_slot, std::vector<BlockCopy>& copies) {
  const BlockId held = state_slot.get(0).value_or(kNoBlock);
  const bool is_needed = needed(state_slot) > 0;
  if (!is_needed && !pool_.is_cached(held)) return;
  if (pool_.stats().free == 0) {
    const BlockId least = least_of_free();
    if (!is_needed && (least == kNoBlock || is_worth_less(held, least))) return evict(held);
    if (least != kNoBlock) evict(least);
  }
  const BlockId own = pool_.allocate();
  OCTAVO_CHECK(own != kNoBlock, "{} snapshots, none is free", pool_.total_count());
  if (held == kNoBlock) return state_slot.append(own);
  copies.push_back({.group = number_, .from = held, .to = own});
  state_slot.replace(0, own);
}

/// The checkpoint of least worth that is nobody's state slot; kNoBlock: there is none.
BlockId StateSnapshots::least_of_free() const {
  BlockId least = kNoBlock;
  for (BlockId snapshot = 0; snapshot < pool_.total_count(); ++snapshot) {
    const bool is_free = pool_.is_cached(snapshot) && pool_.references(snapshot) == 0;
    if (is_free && (least == kNoBlock || is_worth_less(snapshot, least))) least = snapshot;
  }
  return least;
}

bool StateSnapshots::is_worth_less(BlockId a, BlockId b) const {
  const Checkpoint &first = checkpoints_[to_size(a)], &second = checkpoints_[to_size(b)];
  return std::pair(first.worth, first.time) < std::pair(second.worth, second.time);
}

void StateSnapshots::set_worth(BlockId snapshot) {
  Checkpoint& checkpoint = checkpoints_[to_size(snapshot)];
  checkpoint.worth = worth_given_up_ + 1 + 2 * std::min(checkpoint.uses, kMostUses);
  checkpoint.time = ++time_;
}

void StateSnapshots::evict(BlockId snapshot) {
  worth_given_up_ = std::max(worth_given_up_, checkpoints_[to_size(snapshot)].worth);
  forget(checkpoints_[to_size(snapshot)].block);
}

void StateSnapshots::share(const BlockTable& parent, BlockTable& child) {
  if (parent.num_blocks() == 0) return;
  const BlockId id = parent.block_ids().front();
  const Result<void> shared = pool_.add_reference(id);
  OCTAVO_CHECK(shared.has_value(), "{}", shared.error().message);
  child.append(id);
}

void StateSnapshots::keep(const BlockTable& state_slot, BlockId block, int uses) {
  const std::optional<BlockId> held = state_slot.get(0);
  OCTAVO_CHECK(held.has_value() && block >= 0 && to_size(block) < behind_.size(), "block {}", block);
  if (behind(block) != kNoBlock || pool_.is_cached(*held)) return;
  const Result<void> kept = pool_.set_cached(*held, true);
  OCTAVO_CHECK(kept.has_value(), "{}", kept.error().message);
  behind_[to_size(block)] = *held;
  checkpoints_[to_size(*held)] = {.block = block, .uses = uses};
  set_worth(*held);
  ++num_checkpoints_;
}

void StateSnapshots::attach(BlockTable& state_slot, BlockId block) {
  const BlockId checkpoint = behind(block);
  const Result<void> shared = pool_.add_reference(checkpoint);
  OCTAVO_CHECK(shared.has_value(), "{}", shared.error().message);
  if (state_slot.num_blocks() == 0) {
    state_slot.append(checkpoint);
  } else {
    state_slot.replace(0, checkpoint);
  }
  ++checkpoints_[to_size(checkpoint)].uses;
  set_worth(checkpoint);
}

void StateSnapshots::forget(BlockId block) {
  const BlockId checkpoint = behind(block);
  if (checkpoint == kNoBlock) return;
  give_up(checkpoint);
  const Result<void> unmarked = pool_.set_cached(checkpoint, false);
  OCTAVO_CHECK(unmarked.has_value(), "{}", unmarked.error().message);
}

void StateSnapshots::give_up(BlockId snapshot) {
  const BlockId block = std::exchange(checkpoints_[to_size(snapshot)], {}).block;
  OCTAVO_CHECK(block != kNoBlock, "snapshot {} is cached behind no block", snapshot);
  behind_[to_size(block)] = kNoBlock;
  --num_checkpoints_;
}

void StateSnapshots::release(std::vector<BlockRun>& runs) {
  for (BlockPool::Run run = pool_.free_run(0); run.count > 0; run = pool_.free_run(run.first + run.count)) {
    pool_.give_back(run);
    runs.push_back({.group = number_, .first = run.first, .count = run.count});
  }
  pool_.sort_free();
}

Result<void> StateSnapshots::check_integrity(std::span<const std::span<const BlockId>> state_slots) const {
  OCTAVO_TRY_VOID(pool_.check_integrity(state_slots));
  int kept = 0;
  for (BlockId snapshot = 0; snapshot < pool_.total_count(); ++snapshot) {
    const BlockId block = checkpoints_[to_size(snapshot)].block;
    if (pool_.is_cached(snapshot) != (block != kNoBlock))
      return fail("snapshot {} stands behind block {}, the pool says otherwise", snapshot, block);
    if (block == kNoBlock) continue;
    if (behind(block) != snapshot)
      return fail("snapshot {} stands behind block {}, which names {}", snapshot, block, behind(block));
    ++kept;
  }
  if (kept != num_checkpoints_) return fail("{} checkpoints, {} counted", kept, num_checkpoints_);
  return {};
}

}  // namespace octavo
