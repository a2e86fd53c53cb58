#include "kv/contiguous_kv_cache.h"

#include <algorithm>
#include <cstring>

namespace octavo {

Result<ContiguousKvCache> ContiguousKvCache::create(const Shape& shape) {
  if (shape.type == KvType::kQ8_0)
    return fail("a contiguous KV cache has elements of f32, f16 or bf16, found {}", kv_type_name(shape.type));
  ContiguousKvCache cache(shape);
  OCTAVO_TRY_VOID(cache.reserve(std::min(shape.initial_capacity, shape.max_seq_len), 0));
  return cache;
}

std::size_t ContiguousKvCache::row_bytes() const {
  return static_cast<std::size_t>(shape_.head_dim) * (shape_.type == KvType::kF32 ? 4 : 2);
}

Result<void> ContiguousKvCache::reserve(int num_tokens, int num_written) {
  OCTAVO_CHECK(num_written <= capacity_, "{} tokens written, room for {}", num_written, capacity_);
  if (num_tokens <= capacity_) return {};
  if (num_tokens > shape_.max_seq_len)
    return fail("cache overflow: {} tokens, {} of them new, in a cache of at most {}", num_tokens,
                num_tokens - num_written, shape_.max_seq_len);
  std::int64_t wanted = std::max(capacity_, 1);
  while (wanted < num_tokens) wanted *= 2;
  const auto capacity = static_cast<std::size_t>(std::min<std::int64_t>(wanted, shape_.max_seq_len));
  const auto matrices = static_cast<std::size_t>(2 * shape_.num_kv_heads);  // K of every head, then V
  AlignedBuffer<std::uint8_t> grown(matrices * capacity * row_bytes());
  for (std::size_t m = 0; m < matrices && num_written > 0; ++m)
    std::memcpy(grown.data() + m * capacity * row_bytes(),
                buffer_.data() + m * static_cast<std::size_t>(capacity_) * row_bytes(),
                static_cast<std::size_t>(num_written) * row_bytes());
  buffer_ = std::move(grown);
  capacity_ = static_cast<int>(capacity);
  return {};
}

KvLayer ContiguousKvCache::layer() {
  const std::size_t head_bytes = static_cast<std::size_t>(capacity_) * row_bytes();
  return {.data = buffer_.data(),
          .block_bytes = buffer_.size(),
          .head_bytes = head_bytes,
          .v_offset = static_cast<std::size_t>(shape_.num_kv_heads) * head_bytes,
          .k_order = KOrder::kTokenMajor,
          .block_size = capacity_,
          .num_kv_heads = shape_.num_kv_heads,
          .head_dim = shape_.head_dim};
}

}  // namespace octavo
