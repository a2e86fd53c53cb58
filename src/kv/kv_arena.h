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
#include "kv/layer_range.h"
#include "kv/state_layout.h"
#include "octavo/kv/contiguous_kv_cache.h"

namespace octavo {

class KvArena {
 public:
  /// Takes the memory of those layers of `room` that are in `layers`; the contiguous layout has all layers here and
  /// takes memory as the sequence grows. Error: there is not enough memory.
  static Result<KvArena> create(StateRoom room, LayerRange layers = {});

  const StateLayout& layout() const { return room_.layout; }
  const StateRoom& room() const { return room_; }

  /// Layer `index` of a group as the kernels see it; it must be one of this arena's layers.
  const KvLayer& layer(int group, int index) const { return layers_[to_size(group)][to_size(index)]; }

  /// The bytes of a block in layer `index` of a group, one of this arena's layers; not for the contiguous layout.
  /// CHECKs both.
  std::span<std::byte> block_bytes(int group, int index, BlockId block);
  /// Copies blocks, in this order, in every layer of their group that this arena has; copies of snapshots are skipped.
  /// CHECKs the ids.
  void copy_blocks(std::span<const BlockCopy> copies);
  /// Gives the memory of blocks back to the system, as whole pages; groups ascending. It reads as zeros until it is
  /// written again. In the contiguous layout: all memory of the growing caches. Takes no memory itself.
  void release(std::span<const BlockRun> runs);

  /// Whether the contiguous layout has room for fewer than `num_tokens` tokens; false for an arena.
  bool must_grow(std::int64_t num_tokens) const;
  /// Grows the contiguous layout to `num_tokens` tokens at least. The first `num_kept` are kept, as far as there was
  /// memory for them. False where there is no memory; what was written stays.
  bool grow(int num_kept, int num_tokens);
  /// The bytes that the growing caches have grown to; 0 for an arena.
  std::uint64_t grown_bytes() const;
  /// The bytes of the arena that are resident in memory, as the system says.
  std::uint64_t resident_bytes() const { return arena_.resident_bytes(); }

 private:
  KvArena(StateRoom room, LayerRange layers) : room_(std::move(room)), own_(layers) {}
  Result<void> make_arena();
  Result<void> make_caches();
  /// The layers of a group that this arena has.
  std::span<const KvLayer> own_layers(int group) const;

  StateRoom room_;
  PageMemory arena_;
  LayerRange own_;
  std::vector<std::vector<KvLayer>> layers_;            // [group][layer of the group] no data: not a layer of own_
  std::vector<std::vector<ContiguousKvCache>> caches_;  // [group][layer of the group] only in the contiguous layout
};

}  // namespace octavo
