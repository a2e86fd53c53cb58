// PagedKvCache: making positions writable, saying that they are written, cutting off a sequence's end.
#include <algorithm>
#include <limits>

#include "base/to_size.h"
#include "kv/paged_kv_impl.h"

namespace octavo {
namespace {

/// So that the next push_back() or resize() up to `size` cannot fail; as rarely as these would do it.
void make_room(auto& vector, std::size_t size) {
  if (vector.capacity() < size) vector.reserve(std::max(size, 2 * vector.capacity()));
}

}  // namespace

PagedKvCache::Impl::Needed PagedKvCache::Impl::needed(const SequenceState& sequence, int g, std::int64_t first,
                                                      std::int64_t end) const {
  const BlockTable& table = sequence.groups[to_size(g)].table;
  const BlockPool& pool = groups[to_size(g)]->pool;
  Needed blocks{.missing = table.blocks_missing(end), .copies = 0};
  const std::int64_t held_end = std::min<std::int64_t>((end - 1) / block_size + 1, table.num_blocks());
  for (std::int64_t i = std::max<std::int64_t>(first / block_size, table.first_held()); i < held_end; ++i)
    blocks.copies += pool.references(table.block_ids()[to_size(i)]) > 1 ? 1 : 0;
  return blocks;
}

int PagedKvCache::blocks_needed(SequenceId id, int group, std::int64_t first, std::int64_t end) const {
  const SequenceState* sequence = impl_->find(id);
  if (sequence == nullptr || group < 0 || group >= num_groups() || first < 0 || end <= first) return 0;
  const Impl::Needed blocks = impl_->needed(*sequence, group, first, end);
  return static_cast<int>(
      std::min<std::int64_t>(std::int64_t{blocks.missing} + blocks.copies, std::numeric_limits<int>::max()));
}

KvResult<void> PagedKvCache::Impl::check_room(SequenceId id, const SequenceState& sequence, int g, std::int64_t first,
                                              std::int64_t end) const {
  const BlockTable& table = sequence.groups[to_size(g)].table;
  if (first / block_size < table.first_held()) return std::unexpected(PositionOutOfRange{id, first});  // given back
  const Needed blocks = needed(sequence, g, first, end);
  const int num_free = groups[to_size(g)]->pool.free_count();
  if (blocks.missing > num_free - blocks.copies) {
    const std::int64_t all = std::int64_t{blocks.missing} + blocks.copies;
    return std::unexpected(
        OutOfMemory{g, static_cast<int>(std::min<std::int64_t>(all, std::numeric_limits<int>::max())), num_free});
  }
  return {};
}

// Only the contiguous layout's memory grows. False where the system has none.
bool PagedKvCache::Impl::grow_memory(std::int64_t end) {
  if (!storage.is_contiguous() || end <= storage.block_capacity()) return true;
  int num_written = 0;
  for (const auto& books : groups) num_written = std::max(num_written, books->written.extent(0));
  return storage.grow(num_written, static_cast<int>(end));
}

void PagedKvCache::Impl::extend(GroupState& state, int g, std::int64_t num_tokens) {
  const int held = state.table.num_blocks();
  // What can fail for want of memory comes before any block is taken.
  make_room(state.visible, to_size(held + state.table.blocks_missing(num_tokens)));
  const bool grown = state.table.ensure_capacity(num_tokens);
  OCTAVO_CHECK(grown, "{} tokens in group {}", num_tokens, g);
  WrittenBits& written = groups[to_size(g)]->written;
  for (int i = held; i < state.table.num_blocks(); ++i) written.clear_from(state.table.block_ids()[to_size(i)], 0);
  state.visible.resize(to_size(state.table.num_blocks()), block_size);
}

// Afterwards the sequence alone holds the block, nobody finds it, and what the sequence does not see is not written.
void PagedKvCache::Impl::make_private(GroupState& state, int g, int index, std::vector<BlockCopy>& list) {
  GroupBooks& books = *groups[to_size(g)];
  const std::span<const BlockId> blocks = state.table.block_ids();
  BlockId block = blocks[to_size(index)];
  if (books.pool.references(block) > 1) {
    const BlockId before = index == 0 ? kNoBlock : blocks[to_size(index) - 1];
    const BlockId own = books.pool.allocate(before);
    OCTAVO_CHECK(own != kNoBlock, "a copy of block {} in group {}", block, g);
    books.written.copy(block, own);
    list.push_back({.group = g, .from = block, .to = own});
    ++copies;
    state.table.replace(index, own);
    block = own;
  } else if (books.prefix) {
    books.prefix->unpublish(block);
  }
  std::int32_t& visible = state.visible[to_size(index)];
  if (visible < block_size) books.written.clear_from(block, visible);
  visible = block_size;
}

void PagedKvCache::Impl::make_writable(GroupState& state, int g, std::int64_t first, std::int64_t end,
                                       std::vector<BlockCopy>& list) {
  const std::int64_t held_end = std::min<std::int64_t>((end - 1) / block_size + 1, state.table.num_blocks());
  make_room(list, list.size() + to_size(std::max<std::int64_t>(0, held_end - first / block_size)));
  for (std::int64_t i = first / block_size; i < held_end; ++i) make_private(state, g, static_cast<int>(i), list);
  extend(state, g, end);
}

// All or nothing over the groups first_group .. end_group.
KvResult<void> PagedKvCache::Impl::reserve_groups(SequenceId id, SequenceState& sequence, int first_group,
                                                  int end_group, std::int64_t first, std::int64_t end,
                                                  std::vector<BlockCopy>* list) {
  for (int g = first_group; g < end_group; ++g)
    if (const auto room = check_room(id, sequence, g, first, end); !room) return room;
  if (!grow_memory(end)) return std::unexpected(MemoryRefused{end});
  const std::int64_t kept = std::min(first / block_size, static_cast<std::int64_t>(sequence.chain.size()));
  sequence.chain.resize(to_size(kept));
  made.clear();
  for (int g = first_group; g < end_group; ++g)
    make_writable(sequence.groups[to_size(g)], g, first, end, list != nullptr ? *list : made);
  for (const BlockCopy& copy : made) storage.copy_block(copy.group, copy.from, copy.to);
  return {};
}

KvResult<void> PagedKvCache::reserve(SequenceId id, std::int64_t first, std::int64_t end,
                                     std::vector<BlockCopy>* copies) {
  SequenceState* sequence = impl_->find(id);
  if (sequence == nullptr) return std::unexpected(SequenceNotFound{id});
  if (first < 0 || end < first) return std::unexpected(PositionOutOfRange{id, first});
  if (first == end) return {};
  return impl_->reserve_groups(id, *sequence, 0, num_groups(), first, end, copies);
}

KvResult<void> PagedKvCache::ensure_capacity(SequenceId id, std::int64_t num_tokens) {
  SequenceState* sequence = impl_->find(id);
  if (sequence == nullptr) return std::unexpected(SequenceNotFound{id});
  if (num_tokens < 0) return std::unexpected(PositionOutOfRange{id, num_tokens});
  for (int g = 0; g < num_groups(); ++g) {
    const int missing = sequence->groups[to_size(g)].table.blocks_missing(num_tokens);
    if (missing > pool(g).free_count()) return std::unexpected(OutOfMemory{g, missing, pool(g).free_count()});
  }
  if (!impl_->grow_memory(num_tokens)) return std::unexpected(MemoryRefused{num_tokens});
  for (int g = 0; g < num_groups(); ++g) impl_->extend(sequence->groups[to_size(g)], g, num_tokens);
  return {};
}

void PagedKvCache::make_copies(std::span<const BlockCopy> copies) {
  for (const BlockCopy& copy : copies) impl_->storage.copy_block(copy.group, copy.from, copy.to);
}

// The length only grows here; positions that left the window lie before it.
void PagedKvCache::Impl::update_length(GroupState& state, int g) const {
  const WrittenBits& written = groups[to_size(g)]->written;
  while (state.length < state.table.token_capacity()) {
    const auto index = to_size(state.length / block_size);
    const int known = static_cast<int>(state.length % block_size);
    const int leading = std::min(written.leading(state.table.block_ids()[index], known), state.visible[index]);
    state.length = static_cast<std::int64_t>(index) * block_size + leading;
    if (leading < block_size) return;
  }
}

std::int64_t PagedKvCache::layer_length(SequenceId id, int layer) const {
  const SequenceState* sequence = impl_->find(id);
  if (sequence == nullptr || layer < 0 || layer >= num_layers()) return 0;
  const auto [g, layer_index] = impl_->layer_places[to_size(layer)];
  const GroupState& state = sequence->groups[to_size(g)];
  const WrittenBits& written = impl_->groups[to_size(g)]->written;
  std::int64_t length = state.length;
  while (length < state.table.token_capacity()) {
    const auto index = to_size(length / block_size());
    const int known = static_cast<int>(length % block_size()), seen = state.visible[index];
    const int leading = written.leading_of_layer(state.table.block_ids()[index], layer_index, known, seen);
    length = static_cast<std::int64_t>(index) * block_size() + leading;
    if (leading < block_size()) break;
  }
  return length;
}

void PagedKvCache::commit(SequenceId id, std::int64_t end) {
  SequenceState* sequence = impl_->find(id);
  OCTAVO_CHECK(sequence != nullptr, "sequence {}", id);
  for (int g = 0; g < num_groups(); ++g) {
    GroupState& state = sequence->groups[to_size(g)];
    OCTAVO_CHECK(end <= state.table.token_capacity(), "{} tokens in room for {}", end, state.table.token_capacity());
    for (std::int64_t position = state.length; position < end;) {
      const std::int64_t index = position / block_size();
      const BlockId block = state.table.block_ids()[to_size(index)];
      const std::int64_t until = std::min((index + 1) * block_size(), end);
      OCTAVO_CHECK(
          pool(g).references(block) == 1 && !pool(g).is_cached(block) && state.visible[to_size(index)] == block_size(),
          "position {} of sequence {} was not reserved", position, id);
      impl_->groups[to_size(g)]->written.set_all(block, static_cast<int>(position % block_size()),
                                                 static_cast<int>(until - index * block_size()));
      position = until;
    }
    impl_->update_length(state, g);
    if (group(g).window != 0) state.table.release_before(end - group(g).window + 1);
  }
}

// The first block of a group that the token after `num_tokens` tokens looks at.
int PagedKvCache::Impl::first_needed_block(int g, std::int64_t num_tokens) const {
  const int window = groups[to_size(g)]->group.window;
  return window == 0 ? 0 : static_cast<int>(std::max<std::int64_t>(0, num_tokens - window + 1) / block_size);
}

void PagedKvCache::Impl::truncate_group(GroupState& state, int g, std::int64_t num_tokens) {
  if (num_tokens >= state.table.token_capacity()) return;
  GroupBooks& books = *groups[to_size(g)];
  state.table.truncate(num_tokens);
  state.visible.resize(to_size(state.table.num_blocks()));
  state.length = std::min(state.length, num_tokens);
  const int slot = static_cast<int>(num_tokens % block_size);
  if (slot == 0) return;
  const BlockId block = state.table.block_ids().back();
  std::int32_t& visible = state.visible.back();
  visible = std::min(visible, slot);
  if (books.pool.references(block) > 1) return;  // others see more of it: a copy, now, could find no room
  if (books.written.any_from(block, visible)) {
    if (books.prefix) books.prefix->unpublish(block);
    books.written.clear_from(block, visible);
  }
  visible = block_size;
}

KvResult<void> PagedKvCache::truncate(SequenceId id, std::int64_t num_tokens) {
  SequenceState* sequence = impl_->find(id);
  if (sequence == nullptr) return std::unexpected(SequenceNotFound{id});
  if (num_tokens < 0) return std::unexpected(PositionOutOfRange{id, num_tokens});
  for (int g = 0; g < num_groups() && num_tokens != 0; ++g) {
    const GroupState& state = sequence->groups[to_size(g)];
    const bool cuts = num_tokens < state.table.token_capacity();
    if (cuts && impl_->first_needed_block(g, num_tokens) < state.table.first_held())
      return std::unexpected(PositionOutOfRange{id, std::max<std::int64_t>(0, num_tokens - group(g).window + 1)});
  }
  for (int g = 0; g < num_groups(); ++g) impl_->truncate_group(sequence->groups[to_size(g)], g, num_tokens);
  const std::int64_t kept = std::min(num_tokens / block_size(), static_cast<std::int64_t>(sequence->chain.size()));
  sequence->chain.resize(to_size(kept));
  return {};
}

}  // namespace octavo
