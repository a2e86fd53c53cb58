#include "kv/block_pool.h"

namespace octavo {

BlockPool::BlockPool(int capacity) {
  OCTAVO_CHECK(capacity >= 0, "capacity {}", capacity);
  nodes_.resize(static_cast<std::size_t>(capacity));
  ring_ = {.previous = sentinel(), .next = sentinel(), .references = 0};
  for (BlockId id = capacity - 1; id >= 0; --id) push_front(id);
}

BlockPool::Stats BlockPool::stats() const {
  Stats stats{.total = total_count(), .free = num_free_, .referenced = total_count() - num_free_};
  if (stats.total != 0) stats.utilization = static_cast<double>(stats.referenced) / stats.total;
  return stats;
}

void BlockPool::unlink(BlockId id) {
  const Node& taken = node(id);
  node(taken.previous).next = taken.next;
  node(taken.next).previous = taken.previous;
  --num_free_;
}

void BlockPool::push_front(BlockId id) {
  const BlockId first = ring_.next;
  node(id) = {.previous = sentinel(), .next = first, .references = 0};
  node(first).previous = id;
  ring_.next = id;
  ++num_free_;
}

BlockId BlockPool::allocate(BlockId hint) {
  if (num_free_ == 0) return kNoBlock;
  const BlockId neighbour = hint == kNoBlock ? kNoBlock : hint + 1;
  const BlockId id = is_free(neighbour) ? neighbour : ring_.next;
  unlink(id);
  node(id).references = 1;
  return id;
}

bool BlockPool::allocate_run(std::span<BlockId> out, BlockId hint) {
  if (out.size() > static_cast<std::size_t>(num_free_)) return false;
  for (BlockId& id : out) id = hint = allocate(hint);
  return true;
}

void BlockPool::add_reference(BlockId id) {
  OCTAVO_CHECK(in_range(id), "block {} of {}", id, total_count());
  OCTAVO_CHECK(!is_free(id), "block {} is free", id);
  ++node(id).references;
}

void BlockPool::release(BlockId id) {
  OCTAVO_CHECK(in_range(id), "block {} of {}", id, total_count());
  OCTAVO_CHECK(!is_free(id), "block {} is free already", id);
  if (--node(id).references == 0) push_front(id);
}

int BlockPool::references(BlockId id) const {
  return in_range(id) ? nodes_[static_cast<std::size_t>(id)].references : -1;
}

Result<void> BlockPool::check_free_list() const {
  int length = 0;
  BlockId previous = sentinel();
  for (BlockId id = ring_.next; id != sentinel(); id = nodes_[static_cast<std::size_t>(id)].next) {
    if (!in_range(id)) return fail("free list: id {} follows {}, the pool has {} blocks", id, previous, total_count());
    const Node& here = nodes_[static_cast<std::size_t>(id)];
    if (here.references != 0) return fail("free list: block {} has {} references", id, here.references);
    if (here.previous != previous)
      return fail("free list: block {} follows {} but names {}", id, previous, here.previous);
    if (++length > num_free_) return fail("free list: longer than the {} blocks counted as free", num_free_);
    previous = id;
  }
  if (length != num_free_) return fail("free list: {} blocks, {} counted as free", length, num_free_);
  return {};
}

Result<void> BlockPool::check_integrity(std::span<const std::span<const BlockId>> tables) const {
  OCTAVO_TRY_VOID(check_free_list());
  expected_.assign(nodes_.size(), 0);
  for (const std::span<const BlockId> table : tables) {
    for (const BlockId id : table) {
      if (!in_range(id)) return fail("a table holds block {}, the pool has {} blocks", id, total_count());
      ++expected_[static_cast<std::size_t>(id)];
    }
  }
  int referenced = 0;
  for (BlockId id = 0; id < total_count(); ++id) {
    const std::int32_t held = expected_[static_cast<std::size_t>(id)];
    if (references(id) != held) return fail("block {}: {} references, {} tables hold it", id, references(id), held);
    referenced += held != 0 ? 1 : 0;
  }
  if (num_free_ + referenced != total_count()) {
    return fail("{} free + {} referenced blocks, the pool has {}", num_free_, referenced, total_count());
  }
  return {};
}

}  // namespace octavo
