// A growing contiguous KV cache of one layer, for engines without blocks and as the oracle of the paged cache.
//
// K and V lie as [batch, kv_heads, capacity, head_dim] each, all V behind all K, in one allocation that is not cleared;
// in i16 a position's scales, IEEE halfs, follow its dimensions. The capacity doubles up to a maximum. Growing copies
// only written positions, and moves the memory, so that views end; an append touches only the new positions. Each row
// of the batch has a length of its own.
//
// The creator owns the cache; one thread at a time may call it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "octavo/kv/types.h"

namespace octavo {

struct KvLayer;  // src/kernels/kernels.h

struct ContiguousKvOptions {
  KvType type = KvType::kF32;  // any type but q8_0
  int batch = 1;
  int num_kv_heads = 0;
  int head_dim = 0;
  int initial_capacity = 0;  // in tokens; may be 0
  int max_seq_len = 0;       // the most tokens of a row, at least 1
};

/// K and V of all positions so far, without copying: element (row, head, position, d) lies at (row * row_stride + head
/// * head_stride + position * position_stride + d) elements of `type`. In i16 the scale of dimension d lies d / 64
/// elements behind the position's last dimension, and an element is worth 2^-13 of its scale. Elements behind a row's
/// own length are no data. A view is valid until the cache grows or is destroyed.
struct ContiguousKvView {
  KvType type;
  const std::byte *keys, *values;
  int batch, num_kv_heads, seq_len, head_dim;  // seq_len: the longest row's length
  std::span<const int> lengths;                // [batch]
  std::ptrdiff_t row_stride, head_stride, position_stride;
};

class ContiguousKvCache {
 public:
  /// Makes a cache with room for min(initial_capacity, max_seq_len) tokens. Errors: elements of q8_0, counts below 1, a
  /// maximum of more bytes than there are addresses, no memory.
  static Result<ContiguousKvCache> create(const ContiguousKvOptions& options);
  ~ContiguousKvCache();
  ContiguousKvCache(ContiguousKvCache&&) noexcept;
  ContiguousKvCache& operator=(ContiguousKvCache&&) noexcept;

  /// Appends `num_tokens` to every row, each at its own length: keys and values are [batch, kv_heads, num_tokens,
  /// head_dim], rounded to the cache's type. Errors, which leave the cache unchanged: wrong lengths; "cache overflow"
  /// with the three numbers (length, new tokens, maximum); no memory.
  Result<void> update(std::span<const float> keys, std::span<const float> values, int num_tokens);
  /// Appends keys and values in the order of a projection, [batch, num_tokens, kv_heads, head_dim], in one pass, so
  /// that the caller need not transpose them for update().
  Result<void> update_fused(std::span<const float> keys, std::span<const float> values, int num_tokens);
  /// Appends [num_tokens, kv_heads, head_dim] to one row of the batch. Errors: those of update(); no such row.
  Result<void> update_row(int row, std::span<const float> keys, std::span<const float> values, int num_tokens);

  /// A view of all positions. Error: "cache is empty" while no row holds a token.
  Result<ContiguousKvView> get_kv() const;
  /// The whole buffers, [batch, kv_heads, capacity, head_dim] of the cache's type with the strides of get_kv(), for
  /// callers that write them and then call increment(). The spans are valid until the cache grows.
  std::span<std::byte> raw_keys();
  std::span<std::byte> raw_values();

  /// Makes room for `num_tokens` in every row: the capacity doubles until they fit. Errors, which leave the cache
  /// unchanged: more than max_seq_len ("cache overflow"), no memory.
  Result<void> reserve(int num_tokens);
  /// Adds `num_tokens`, which were written through raw_keys()/raw_values() or layer(), to a row's length. Errors, which
  /// leave the length unchanged: past the capacity, no such row.
  Result<void> increment(int row, int num_tokens);
  /// Forgets a row's positions from `num_tokens` on. Error: the row has fewer, or there is no such row.
  Result<void> truncate(int row, int num_tokens);
  /// Makes the length of every row 0 and keeps the memory.
  void reset();
  /// Makes every length and the capacity 0, and frees the memory.
  void release();

  int length(int row) const { return has_row(row) ? lengths_[static_cast<std::size_t>(row)] : 0; }  // 0: no such row
  int seq_len() const;                                                                              // the longest row's
  bool is_empty() const { return seq_len() == 0; }
  int capacity() const { return capacity_; }
  int max_seq_len() const { return options_.max_seq_len; }
  int batch_size() const { return options_.batch; }
  int num_kv_heads() const { return options_.num_kv_heads; }
  int head_dim() const { return options_.head_dim; }
  KvType type() const { return options_.type; }
  std::uint64_t bytes() const;  // bytes of the one allocation

  /// The cache as the library's kernels see it, valid until it grows: block r, of `capacity` tokens, is row r.
  KvLayer layer() const;

 private:
  explicit ContiguousKvCache(const ContiguousKvOptions& options);
  struct Memory;  // the aligned buffer, and the kernels that write it

  bool has_row(int row) const { return row >= 0 && row < options_.batch; }
  std::size_t token_bytes() const;  // the bytes of one position of one head, K or V
  Result<void> check_values(std::span<const float> keys, std::span<const float> values, int num_tokens,
                            int num_rows) const;
  Result<void> make_room(int length, int num_tokens);
  Result<void> grow(int capacity);
  void write_tokens(int row, const float* keys, const float* values, int num_tokens);

  ContiguousKvOptions options_;
  int capacity_ = 0;
  std::vector<int> lengths_;  // [batch]
  std::unique_ptr<Memory> memory_;
};

}  // namespace octavo
