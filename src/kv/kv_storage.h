// The memory of the KV cache: one arena, one allocation; or, in the contiguous layout, one growing cache a layer for a
// single sequence, whose whole length is its only block.
//
// Paged: a block id covers block_size tokens of all layers of an attention group (layers with the same window). Each
// layer has its own region, so that consecutive ids are consecutive memory for the layer being read:
//
//     group 0: layer 0 [block 0][block 1]... layer 1 [block 0]...   group 1: ...
//
// The system provides the arena's memory as blocks are first written, and takes back what release() names.
//
// Owned by PagedKvCache, which keeps the books of who holds which block; the kernels read and write it in place. One
// thread at a time may change it; the threads of a step write different slots.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/error.h"
#include "base/page_memory.h"
#include "base/to_size.h"
#include "kernels/kernels.h"
#include "octavo/kv/contiguous_kv_cache.h"
#include "octavo/kv/types.h"

namespace octavo {

/// Shape of a model's KV memory.
struct KvShape {
  KvType type = KvType::kF16;
  int block_size = kDefaultBlockSize;  // tokens; of the contiguous layout: the longest sequence
  int num_kv_heads = 0;
  int head_dim = 0;
  std::vector<int> group_layers = {};  // layers of each attention group

  int num_groups() const { return static_cast<int>(group_layers.size()); }
  int num_layers() const;
  /// Bytes of one KV head, one layer, one block.
  std::size_t head_bytes() const;
  /// Bytes of one block of a group, all its layers.
  std::size_t group_block_bytes(int group) const;
  /// Bytes of one block of every group: what block_size tokens of a sequence take.
  std::size_t block_bytes() const;
  std::size_t bytes_per_token() const { return block_bytes() / to_size(block_size); }
};

class KvStorage {
 public:
  /// The arena with `num_blocks` blocks of each group, at least 1. Error: there is no memory.
  static Result<KvStorage> create(const KvShape& shape, std::span<const int> num_blocks);
  /// The contiguous layout: one block of shape.block_size tokens in every group; the memory is taken as the sequence
  /// grows. Error: q8_0.
  static Result<KvStorage> create_contiguous(const KvShape& shape);

  const KvShape& shape() const { return shape_; }
  bool is_contiguous() const { return !caches_.empty(); }
  int num_blocks(int group) const { return num_blocks_[to_size(group)]; }
  /// Bytes of KV memory: the arena, or what the growing caches take at their longest.
  std::uint64_t arena_bytes() const { return arena_bytes_; }

  /// Bytes of one block of a group, all its layers.
  std::uint64_t block_bytes(int group) const;

  /// Tokens that a block has memory for: all of its tokens, or what the growing caches have grown to.
  int block_capacity() const;
  /// Grows the contiguous layout to `num_tokens` tokens at least, of which the first `num_written` are kept. False
  /// where there is no memory; what was written stays.
  bool grow(int num_written, int num_tokens);

  /// Layer `index` of a group, as the kernels see it.
  const KvLayer& layer(int group, int index) const { return layers_[to_size(group)][to_size(index)]; }

  /// Gives memory of the arena back to the system: whole pages of [begin, end), which lies within it. It reads as zeros
  /// until it is written again.
  void release(const std::uint8_t* begin, const std::uint8_t* end);
  /// Gives all memory of the growing caches back; nothing is written in them any more.
  void release_caches();
  /// Bytes that the growing caches have grown to; 0 of the arena.
  std::uint64_t grown_bytes() const;
  /// Bytes of the arena that are in memory, as the system says.
  std::uint64_t arena_resident_bytes() const { return arena_.resident_bytes(); }

  /// Copies a block's contents in every layer of its group.
  void copy_block(int group, std::int32_t from, std::int32_t to);

 private:
  KvStorage() = default;

  KvShape shape_;
  std::vector<int> num_blocks_;  // [groups]
  std::uint64_t arena_bytes_ = 0;
  PageMemory arena_;
  std::vector<std::vector<KvLayer>> layers_;            // [group][layer of the group]
  std::vector<std::vector<ContiguousKvCache>> caches_;  // the same of the contiguous layout, else empty
};

}  // namespace octavo
