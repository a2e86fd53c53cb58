// The bytes of keys and values: one arena, one allocation; or, in the contiguous layout, one growing cache a layer for
// a single sequence, whose whole length is its only block.
//
// Paged: a block id covers block_size tokens of all layers of an attention group. Each layer has its own region, so
// that consecutive ids are consecutive memory for the layer being read:
//
//     group 0: layer 0 [block 0][block 1]... layer 1 [block 0]...   group 1: ...
//
// The system provides the arena's memory as blocks are first written, and takes back what release() names.
//
// Owned by a runner (or a PagedKvCache). It knows no sequence: the KvCacheManager says who holds which block; the
// kernels read and write in place. One thread at a time may change it; the threads of a step write different slots.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/error.h"
#include "base/page_memory.h"
#include "base/to_size.h"
#include "kernels/kernels.h"
#include "kv/state_layout.h"
#include "octavo/kv/contiguous_kv_cache.h"

namespace octavo {

class KvArena {
 public:
  /// Memory for `room`. Of the contiguous layout it is taken as the sequence grows. Error: there is none.
  static Result<KvArena> create(StateRoom room);

  const StateLayout& layout() const { return room_.layout; }
  const StateRoom& room() const { return room_; }

  /// Layer `index` of a group, as the kernels see it.
  const KvLayer& layer(int group, int index) const { return layers_[to_size(group)][to_size(index)]; }

  /// The first `count` layers keep their keys and values elsewhere: their memory is not touched from now on.
  void leave_out(int count);

  /// Copies blocks, in this order, in every layer of their group; copies of snapshots are not its own. CHECKs the ids.
  void copy_blocks(std::span<const BlockCopy> copies);
  /// Gives the memory of blocks back to the system, as whole pages; groups ascending. It reads as zeros until it is
  /// written again. Of the contiguous layout: all memory of the growing caches. Takes no memory itself.
  void release(std::span<const BlockRun> runs);

  /// The contiguous layout has grown to fewer tokens. False of an arena.
  bool must_grow(std::int64_t num_tokens) const;
  /// Grows the contiguous layout to `num_tokens` tokens at least. The first `num_kept` are kept, as far as there was
  /// memory for them. False where there is no memory; what was written stays.
  bool grow(int num_kept, int num_tokens);
  /// Bytes that the growing caches have grown to; 0 of an arena.
  std::uint64_t grown_bytes() const;
  /// Bytes of the arena that are in memory, as the system says.
  std::uint64_t resident_bytes() const { return arena_.resident_bytes(); }

 private:
  explicit KvArena(StateRoom room) : room_(std::move(room)) {}
  Result<void> make_arena();
  Result<void> make_caches();
  /// Layers of a group that lie elsewhere, the first ones.
  std::size_t num_left_out(int group) const;

  StateRoom room_;
  PageMemory arena_;
  std::vector<std::vector<KvLayer>> layers_;  // [group][layer of the group]
  int num_left_out_ = 0;
  std::vector<std::vector<ContiguousKvCache>> caches_;  // the same of the contiguous layout, else empty
};

}  // namespace octavo
