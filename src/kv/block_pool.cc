#include "octavo/kv/block_pool.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "base/to_size.h"
#include "kv/kv_error.h"

namespace octavo {

BlockPool::BlockPool(int capacity) {
  OCTAVO_CHECK(capacity >= 0, "capacity {}", capacity);
  nodes_.resize(to_size(capacity));
  for (const Ring ring : {kUncached, kCached}) rings_[ring] = {.previous = sentinel(ring), .next = sentinel(ring)};
  for (BlockId id = 0; id < capacity; ++id) link_behind(id, rings_[kUncached].previous);
  num_free_ = capacity;
}

BlockPool::Node& BlockPool::node(BlockId id) {
  return id < total_count() ? nodes_[to_size(id)] : rings_[id - total_count()];
}

const BlockPool::Node& BlockPool::node(BlockId id) const {
  return id < total_count() ? nodes_[to_size(id)] : rings_[id - total_count()];
}

double BlockPool::utilization() const {
  return total_count() == 0 ? 0 : static_cast<double>(total_count() - free_count()) / total_count();
}

BlockPool::Stats BlockPool::stats() const {
  return {.total = total_count(),
          .free = num_free_,
          .cached = num_cached_,
          .referenced = total_count() - free_count(),
          .resident = num_resident_,
          .evictions = num_evictions_};
}

void BlockPool::link_behind(BlockId id, BlockId where) {
  const BlockId next = node(where).next;
  node(id).previous = where;
  node(id).next = next;
  node(where).next = id;
  node(next).previous = id;
}

void BlockPool::unlink(BlockId id) {
  const Node& taken = node(id);
  node(taken.previous).next = taken.next;
  node(taken.next).previous = taken.previous;
  --(taken.cached ? num_cached_ : num_free_);
}

// Uncached blocks are taken from the front of their ring and come back there; cached ones come back to the end.
void BlockPool::put_into_ring(BlockId id) {
  if (node(id).cached) {
    link_behind(id, rings_[kCached].previous);
    ++num_cached_;
  } else {
    link_behind(id, sentinel(kUncached));
    ++num_free_;
  }
}

BlockId BlockPool::allocate(BlockId hint) {
  if (free_count() == 0) return kNoBlock;
  const BlockId neighbour = hint == kNoBlock || !in_range(hint) ? kNoBlock : hint + 1;
  const bool beside = in_range(neighbour) && is_free_and_uncached(neighbour);
  const bool evicts = !beside && num_free_ == 0;
  const BlockId id = beside ? neighbour : rings_[evicts ? kCached : kUncached].next;
  unlink(id);
  node(id).references = 1;
  node(id).cached = false;
  if (!std::exchange(node(id).resident, true)) ++num_resident_;
  if (evicts) {
    ++num_evictions_;
    on_evict_.tell(id);
  }
  return id;
}

bool BlockPool::allocate_run(std::span<BlockId> out, BlockId hint) {
  if (out.size() > to_size(free_count())) return false;
  for (BlockId& id : out) id = hint = allocate(hint);
  return true;
}

Result<void> BlockPool::add_reference(BlockId id) {
  if (!in_range(id)) return block_out_of_range(id, total_count());
  Node& here = node(id);
  if (here.references == 0) {
    if (!here.cached) return block_not_in_use(id);
    unlink(id);
  }
  ++here.references;
  return {};
}

Result<void> BlockPool::free(BlockId id) {
  if (!in_range(id)) return block_out_of_range(id, total_count());
  if (references(id) == 0) return block_not_in_use(id);
  if (--node(id).references == 0) put_into_ring(id);
  return {};
}

int BlockPool::references(BlockId id) const { return in_range(id) ? node(id).references : -1; }

Result<void> BlockPool::set_cached(BlockId id, bool cached) {
  if (!in_range(id)) return block_out_of_range(id, total_count());
  Node& here = node(id);
  if (here.references == 0 && !here.cached) return block_not_in_use(id);
  if (here.cached == cached) return {};
  if (here.references != 0) {
    here.cached = cached;
    return {};
  }
  unlink(id);
  here.cached = false;
  put_into_ring(id);
  return {};
}

bool BlockPool::is_cached(BlockId id) const { return in_range(id) && node(id).cached; }

void BlockPool::evict_all() {
  while (num_cached_ > 0) {
    const BlockId id = rings_[kCached].next;
    unlink(id);
    node(id).cached = false;
    put_into_ring(id);
    ++num_evictions_;
    on_evict_.tell(id);
  }
}

BlockPool::Run BlockPool::free_run(BlockId from) const {
  while (from < total_count() && !is_free_and_uncached(from)) ++from;
  BlockId end = from;
  while (end < total_count() && is_free_and_uncached(end)) ++end;
  return {.first = from, .count = end - from};
}

void BlockPool::give_back(Run run) {
  for (BlockId id = run.first; id < run.first + run.count; ++id) {
    OCTAVO_CHECK(in_range(id) && is_free_and_uncached(id), "block {}", id);
    if (std::exchange(node(id).resident, false)) --num_resident_;
  }
}

void BlockPool::sort_free() {
  rings_[kUncached] = {.previous = sentinel(kUncached), .next = sentinel(kUncached)};
  for (const bool resident : {true, false})
    for (BlockId id = 0; id < total_count(); ++id)
      if (is_free_and_uncached(id) && node(id).resident == resident) link_behind(id, rings_[kUncached].previous);
}

Result<void> BlockPool::check_ring(Ring ring, int expected_length) const {
  const char* name = ring == kCached ? "cached" : "free";
  int length = 0;
  BlockId previous = sentinel(ring);
  for (BlockId id = rings_[ring].next; id != sentinel(ring); id = node(id).next) {
    if (!in_range(id))
      return fail("{} list: id {} follows {}, the pool has {} blocks", name, id, previous, total_count());
    const Node& here = node(id);
    if (here.references != 0) return fail("{} list: block {} has {} references", name, id, here.references);
    if (here.cached != (ring == kCached)) return fail("{} list: block {} belongs to the other list", name, id);
    if (here.previous != previous)
      return fail("{} list: block {} follows {} but names {}", name, id, previous, here.previous);
    if (++length > expected_length) return fail("{} list: longer than the {} blocks counted", name, expected_length);
    previous = id;
  }
  if (length != expected_length) return fail("{} list: {} blocks, {} counted", name, length, expected_length);
  return {};
}

Result<void> BlockPool::check_integrity(std::span<const std::span<const BlockId>> tables) const {
  OCTAVO_TRY_VOID(check_ring(kUncached, num_free_));
  OCTAVO_TRY_VOID(check_ring(kCached, num_cached_));
  expected_.assign(nodes_.size(), 0);
  for (const std::span<const BlockId> table : tables) {
    for (const BlockId id : table) {
      if (id == kNoBlock) continue;
      if (!in_range(id)) return fail("a table holds block {}, the pool has {} blocks", id, total_count());
      ++expected_[to_size(id)];
    }
  }
  int referenced = 0;
  for (BlockId id = 0; id < total_count(); ++id) {
    const std::int32_t held = expected_[to_size(id)];
    if (references(id) != held) return fail("block {}: {} references, {} tables hold it", id, references(id), held);
    if (held != 0 && !node(id).resident) return fail("block {} is in use without memory behind it", id);
    referenced += held != 0 ? 1 : 0;
  }
  const auto resident = std::ranges::count_if(nodes_, &Node::resident);
  if (resident != num_resident_) return fail("{} blocks have memory behind them, {} counted", resident, num_resident_);
  if (free_count() + referenced != total_count()) {
    return fail("{} free + {} cached + {} referenced blocks, the pool has {}", num_free_, num_cached_, referenced,
                total_count());
  }
  return {};
}

}  // namespace octavo
