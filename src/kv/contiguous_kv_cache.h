// A growing contiguous KV cache of one layer: what an engine without pages uses, and the oracle of the paged one.
//
// K and V lie as [kv_heads, capacity, head_dim] each, in one allocation. The capacity doubles up to a maximum; growing
// copies only what was written. Owned by KvStorage in its contiguous layout; one thread at a time.
#pragma once

#include "base/aligned_buffer.h"
#include "base/error.h"
#include "kernels/kernels.h"
#include "octavo/engine.h"

namespace octavo {

class ContiguousKvCache {
 public:
  struct Shape {
    KvType type = KvType::kF16;  // f32, f16 or bf16
    int num_kv_heads = 0;
    int head_dim = 0;
    int initial_capacity = 0;  // tokens; may be 0
    int max_seq_len = 0;       // tokens
  };

  /// A cache with room for min(initial_capacity, max_seq_len) tokens. Error: an element type with scales (q8_0).
  static Result<ContiguousKvCache> create(const Shape& shape);

  int capacity() const { return capacity_; }
  std::uint64_t bytes() const { return buffer_.size(); }

  /// Makes room for `num_tokens`, of which the first `num_written` are kept: the capacity doubles until they fit.
  /// Error: more than max_seq_len; the cache is unchanged. Throws std::bad_alloc where there is no memory, unchanged
  /// too.
  Result<void> reserve(int num_tokens, int num_written);

  /// The cache as the kernels see it: one block, 0, of `capacity` tokens. Valid until the next reserve.
  KvLayer layer();

 private:
  explicit ContiguousKvCache(const Shape& shape) : shape_(shape) {}

  std::size_t row_bytes() const;  // one token of one head, K or V

  Shape shape_;
  int capacity_ = 0;
  AlignedBuffer<std::uint8_t> buffer_;
};

}  // namespace octavo
