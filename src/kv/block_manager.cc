#include "kv/block_manager.h"

#include <algorithm>
#include <limits>

#include "base/aligned_buffer.h"
#include "base/to_size.h"
#include "kv/kv_error.h"

namespace octavo {
namespace {

/// So that the next push_back() or resize() up to `size` cannot fail; as rarely as these would do it.
void make_room_in(auto& vector, std::size_t size) {
  if (vector.capacity() < size) vector.reserve(std::max(size, 2 * vector.capacity()));
}

}  // namespace

int BlockManager::first_needed_block(std::int64_t num_tokens) const {
  return static_cast<int>(shape_.first_seen(num_tokens) / block_size_);
}

BlockManager::Needed BlockManager::needed(const GroupState& state, std::int64_t first, std::int64_t end) const {
  const BlockTable& table = state.table;
  Needed blocks{.missing = table.blocks_missing(end), .copies = 0};
  const std::int64_t held_end = std::min<std::int64_t>((end - 1) / block_size_ + 1, table.num_blocks());
  for (std::int64_t i = std::max<std::int64_t>(first / block_size_, table.first_held()); i < held_end; ++i)
    blocks.copies += pool_.references(table.block_ids()[to_size(i)]) > 1 ? 1 : 0;
  return blocks;
}

std::int64_t BlockManager::blocks_needed(const GroupState& state, std::int64_t first, std::int64_t end) const {
  const Needed blocks = needed(state, first, end);
  return std::int64_t{blocks.missing} + blocks.copies;
}

Result<void> BlockManager::check_room(SequenceId id, const GroupState& state, std::int64_t first,
                                      std::int64_t end) const {
  if (first / block_size_ < state.table.first_held()) return position_out_of_range(id, first);  // given back
  const std::int64_t all = blocks_needed(state, first, end);
  if (all <= pool_.free_count()) return {};
  return out_of_blocks(number_, static_cast<int>(std::min<std::int64_t>(all, std::numeric_limits<int>::max())),
                       pool_.free_count());
}

void BlockManager::extend(GroupState& state, std::int64_t num_tokens) {
  const int held = state.table.num_blocks(), missing = state.table.blocks_missing(num_tokens);
  if (missing == 0) return;  // as for most tokens of an answer
  // Room for the entries, which may fail, comes before any block is taken.
  make_room_in(state.visible, to_size(held + missing));
  const bool grown = state.table.ensure_capacity(num_tokens);
  OCTAVO_CHECK(grown, "{} tokens in group {}", num_tokens, number_);
  for (int i = held; i < state.table.num_blocks(); ++i) written_.clear_from(state.table.block_ids()[to_size(i)], 0);
  state.visible.resize(to_size(state.table.num_blocks()), block_size_);
}

// Afterwards the sequence alone holds the block, nobody finds it, and what the sequence does not see is not written.
void BlockManager::make_private(GroupState& state, int index, std::vector<BlockCopy>& copies) {
  const std::span<const BlockId> blocks = state.table.block_ids();
  BlockId block = blocks[to_size(index)];
  if (pool_.references(block) > 1) {
    const BlockId before = index == 0 ? kNoBlock : blocks[to_size(index) - 1];
    const BlockId own = pool_.allocate(before);
    OCTAVO_CHECK(own != kNoBlock, "a copy of block {} in group {}", block, number_);
    written_.copy(block, own);
    copies.push_back({.group = number_, .from = block, .to = own});
    ++num_copies_;
    state.table.replace(index, own);
    block = own;
  } else if (prefix_) {
    prefix_->unpublish(block);
  }
  std::int32_t& visible = state.visible[to_size(index)];
  if (visible < block_size_) written_.clear_from(block, visible);
  visible = block_size_;
}

void BlockManager::reserve(GroupState& state, std::int64_t first, std::int64_t end, std::vector<BlockCopy>& copies) {
  const std::int64_t held_end = std::min<std::int64_t>((end - 1) / block_size_ + 1, state.table.num_blocks());
  make_room_in(copies, copies.size() + to_size(std::max<std::int64_t>(0, held_end - first / block_size_)));
  for (std::int64_t i = first / block_size_; i < held_end; ++i) make_private(state, static_cast<int>(i), copies);
  extend(state, end);
}

// The length only grows here; positions that left the window lie before it.
void BlockManager::update_length(GroupState& state) const {
  while (state.length < state.table.token_capacity()) {
    const auto index = to_size(state.length / block_size_);
    const int known = static_cast<int>(state.length % block_size_);
    const int leading = std::min(written_.leading(state.table.block_ids()[index], known), state.visible[index]);
    state.length = static_cast<std::int64_t>(index) * block_size_ + leading;
    if (leading < block_size_) return;
  }
}

std::int64_t BlockManager::layer_length(const GroupState& state, int layer_index) const {
  std::int64_t length = state.length;
  while (length < state.table.token_capacity()) {
    const auto index = to_size(length / block_size_);
    const int known = static_cast<int>(length % block_size_), seen = state.visible[index];
    const int leading = written_.leading_of_layer(state.table.block_ids()[index], layer_index, known, seen);
    length = static_cast<std::int64_t>(index) * block_size_ + leading;
    if (leading < block_size_) break;
  }
  return length;
}

void BlockManager::commit(SequenceId id, GroupState& state, std::int64_t end) {
  OCTAVO_CHECK(end <= state.table.token_capacity(), "{} tokens in room for {}", end, state.table.token_capacity());
  for (std::int64_t position = state.length; position < end;) {
    const std::int64_t index = position / block_size_;
    const BlockId block = state.table.block_ids()[to_size(index)];
    const std::int64_t until = std::min((index + 1) * block_size_, end);
    OCTAVO_CHECK(
        pool_.references(block) == 1 && !pool_.is_cached(block) && state.visible[to_size(index)] == block_size_,
        "position {} of sequence {} was not reserved", position, id);
    written_.set_all(block, static_cast<int>(position % block_size_), static_cast<int>(until - index * block_size_));
    position = until;
  }
  update_length(state);
  state.table.release_before(shape_.first_seen(end));
}

void BlockManager::mark_written(GroupState& state, int layer_index, std::int64_t first, std::int64_t end) {
  for (std::int64_t position = first; position < end;) {
    const std::int64_t index = position / block_size_;
    const std::int64_t until = std::min((index + 1) * block_size_, end);
    written_.set(state.table.block_ids()[to_size(index)], layer_index, static_cast<int>(position % block_size_),
                 static_cast<int>(until - index * block_size_));
    position = until;
  }
  if (first <= state.length) update_length(state);
}

void BlockManager::truncate(GroupState& state, std::int64_t num_tokens) {
  if (num_tokens >= state.table.token_capacity()) return;
  state.table.truncate(num_tokens);
  state.visible.resize(to_size(state.table.num_blocks()));
  state.length = std::min(state.length, num_tokens);
  const int slot = static_cast<int>(num_tokens % block_size_);
  if (slot == 0) return;
  const BlockId block = state.table.block_ids().back();
  std::int32_t& visible = state.visible.back();
  visible = std::min(visible, slot);
  if (pool_.references(block) > 1) return;  // others see more of it: a copy, now, could find no room
  if (written_.any_from(block, visible)) {
    if (prefix_) prefix_->unpublish(block);
    written_.clear_from(block, visible);
  }
  visible = block_size_;
}

bool BlockManager::is_visible(const GroupState& state, int layer_index, std::int64_t position) const {
  if (position < 0 || position >= state.table.token_capacity()) return false;
  const std::int64_t index = position / block_size_;
  const int slot = static_cast<int>(position % block_size_);
  if (index < state.table.first_held() || slot >= state.visible[to_size(index)]) return false;
  return written_.test(state.table.block_ids()[to_size(index)], layer_index, slot);
}

// Pages of 2 MiB that hold other blocks too would be broken into small ones for less.
void BlockManager::release(std::size_t layer_block_bytes, std::vector<BlockRun>& runs) {
  for (BlockPool::Run run = pool_.free_run(0); run.count > 0; run = pool_.free_run(run.first + run.count)) {
    const bool is_large = to_size(run.count) * layer_block_bytes >= kHugePageBytes;
    if (run.count != pool_.total_count() && !is_large) continue;
    pool_.give_back(run);
    runs.push_back({.group = number_, .first = run.first, .count = run.count});
  }
  pool_.sort_free();
}

std::size_t BlockManager::most_runs(std::size_t layer_block_bytes) const {
  return to_size(pool_.total_count()) * layer_block_bytes / kHugePageBytes + 1;
}

Result<void> BlockManager::check_integrity(std::span<const std::span<const BlockId>> tables) const {
  OCTAVO_TRY_VOID(pool_.check_integrity(tables));
  if (!prefix_) return {};
  OCTAVO_TRY_VOID(prefix_->check_integrity());
  for (BlockId block = 0; block < pool_.total_count(); ++block)
    if (prefix_->is_published(block) && written_.leading(block) != block_size_)
      return fail("block {} is published with {} of {} slots written", block, written_.leading(block), block_size_);
  return {};
}

Result<void> BlockManager::check_state(const GroupState& state, std::span<const BlockHash> chain) const {
  const std::span<const BlockId> blocks = state.table.block_ids();
  if (state.visible.size() != blocks.size()) return fail("{} blocks, {} limits", blocks.size(), state.visible.size());
  const auto first = to_size(state.table.first_held());
  std::int64_t length = static_cast<std::int64_t>(first) * block_size_;
  bool leads = true;
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    if ((blocks[i] == kNoBlock) != (i < first))
      return fail("entry {} is block {}, the first held is {}", i, blocks[i], first);
    if (blocks[i] == kNoBlock) continue;
    if (state.visible[i] < 1 || state.visible[i] > block_size_)
      return fail("sees {} slots of block {}", state.visible[i], blocks[i]);
    const int written = leads ? std::min(written_.leading(blocks[i]), state.visible[i]) : 0;
    length += written;
    leads = leads && written == block_size_;
  }
  if (length != state.length) return fail("{} leading positions are written, {} counted", length, state.length);
  for (std::size_t i = first; i < chain.size(); ++i)
    if (i >= blocks.size() || prefix_->hash_of(blocks[i]) != chain[i])
      return fail("block {} is not published under its hash", i);
  return {};
}

}  // namespace octavo
