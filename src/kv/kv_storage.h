// The memory of the KV cache: one arena, one allocation, sized by a byte budget; or, in the contiguous layout, one
// growing cache a layer for a single sequence, whose whole length is its only block.
//
// Paged: a block id covers block_size tokens of all layers of an attention group (layers with the same span). Each
// layer has its own region, so that consecutive ids are consecutive memory for the layer being read:
//
//     group 0: layer 0 [block 0][block 1]... layer 1 [block 0]...   group 1: ...
//
// Owned by the model runner, which alone reads and writes it; who holds which block is BlockPool's business.
#pragma once

#include <cstdint>
#include <vector>

#include "base/aligned_buffer.h"
#include "base/error.h"
#include "kernels/kernels.h"
#include "kv/contiguous_kv_cache.h"
#include "octavo/engine.h"

namespace octavo {

/// Shape of a model's KV memory.
struct KvShape {
  KvType type = KvType::kF16;
  int block_size = 16;
  int num_kv_heads = 0;
  int head_dim = 0;
  std::vector<int> group_layers;  // layers of each attention group

  int num_layers() const;
  /// Bytes of one KV head, one layer, one block.
  std::size_t head_bytes() const;
  /// Bytes of one block of every group: what block_size tokens of a sequence take.
  std::size_t block_bytes() const;
  std::size_t bytes_per_token() const { return block_bytes() / static_cast<std::size_t>(block_size); }
};

class KvStorage {
 public:
  /// As many blocks a group as `budget_bytes` holds, at most `max_blocks`. Error: it holds none, or there is no memory.
  static Result<KvStorage> create(const KvShape& shape, std::uint64_t budget_bytes, std::int64_t max_blocks);

  /// The contiguous layout: one block of as many tokens as the budget holds, at most `max_tokens`; the memory is taken
  /// as the sequence grows. While one layer grows it is there twice, which the budget includes.
  static Result<KvStorage> create_contiguous(const KvShape& shape, std::uint64_t budget_bytes, int max_tokens);

  int num_blocks() const { return num_blocks_; }  // of each group
  /// Bytes of KV memory: the arena, or what the growing caches take at their longest.
  std::uint64_t arena_bytes() const { return static_cast<std::uint64_t>(num_blocks_) * shape_.block_bytes(); }
  const KvShape& shape() const { return shape_; }

  /// Before a step that writes positions first .. end - 1 of a sequence: the contiguous layout grows here.
  void prepare(int first, int end);

  /// Layer `layer` of a group, as the kernels see it.
  const KvLayer& layer(int group, int layer) const {
    return layers_[static_cast<std::size_t>(group)][static_cast<std::size_t>(layer)];
  }

  /// Copies a block's contents in every layer of its group.
  void copy_block(int group, std::int32_t from, std::int32_t to);

 private:
  KvStorage() = default;

  KvShape shape_;
  int num_blocks_ = 0;
  AlignedBuffer<std::uint8_t> arena_;
  std::vector<std::vector<KvLayer>> layers_;            // [group][layer of the group]
  std::vector<std::vector<ContiguousKvCache>> caches_;  // the same of the contiguous layout, else empty
};

}  // namespace octavo
