// A growing contiguous KV cache of one layer, for engines without blocks, and the oracle of the paged one.
//
// K and V lie as [batch, kv_heads, capacity, head_dim] each, all V behind all K, in one allocation that nobody clears;
// of i16 each position's scales, IEEE halfs, follow its dimensions. The capacity doubles up to a maximum; growing
// copies only what was written (and moves the memory, so views end there), an append touches only the new positions.
// Each row of the batch has a length of its own.
//
// Owned by whoever created it; one thread at a time.
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
  KvType type = KvType::kF32;  // any but q8_0
  int batch = 1;
  int num_kv_heads = 0;
  int head_dim = 0;
  int initial_capacity = 0;  // tokens; may be 0
  int max_seq_len = 0;       // tokens a row, at least 1
};

/// K and V of all positions so far, without copying: element (row, head, position, d) lies at (row * row_stride + head
/// * head_stride + position * position_stride + d) elements of `type`. Of i16 the scale of dimension d lies d / 64
/// elements behind the position's last; the element is worth 2^-13 of it. Elements behind a row's own length are no
/// data. Valid until the cache grows or goes.
struct ContiguousKvView {
  KvType type;
  const std::byte *keys, *values;
  int batch, num_kv_heads, seq_len, head_dim;  // seq_len: the longest row's
  std::span<const int> lengths;                // [batch]
  std::ptrdiff_t row_stride, head_stride, position_stride;
};

class ContiguousKvCache {
 public:
  /// Room for min(initial_capacity, max_seq_len) tokens. Errors: elements of q8_0, counts below 1,
  /// a maximum of more bytes than an address counts, no memory.
  static Result<ContiguousKvCache> create(const ContiguousKvOptions& options);
  ~ContiguousKvCache();
  ContiguousKvCache(ContiguousKvCache&&) noexcept;
  ContiguousKvCache& operator=(ContiguousKvCache&&) noexcept;

  /// Appends `num_tokens` to every row, each at its own length: keys and values are [batch, kv_heads, num_tokens,
  /// head_dim], rounded to the cache's type. Errors, and the cache is unchanged: wrong lengths; "cache overflow" with
  /// the three numbers (length, new tokens, maximum); no memory.
  Result<void> update(std::span<const float> keys, std::span<const float> values, int num_tokens);
  /// The same from the order in which a projection leaves them, [batch, num_tokens, kv_heads, head_dim], written in
  /// place in one pass, without the transposition that update() asks of its caller.
  Result<void> update_fused(std::span<const float> keys, std::span<const float> values, int num_tokens);
  /// Appends to one row of the batch: [num_tokens, kv_heads, head_dim]. Errors: as above, or no such row.
  Result<void> update_row(int row, std::span<const float> keys, std::span<const float> values, int num_tokens);

  /// Error: "cache is empty" while no row holds a token.
  Result<ContiguousKvView> get_kv() const;
  /// The whole buffers, [batch, kv_heads, capacity, head_dim] of the cache's type, strides as in get_kv(); for callers
  /// that write themselves and then say so with increment(). Valid until the cache grows.
  std::span<std::byte> raw_keys();
  std::span<std::byte> raw_values();

  /// Room for `num_tokens` in every row: the capacity doubles until they fit. Errors, and the cache is unchanged: more
  /// than max_seq_len ("cache overflow"), no memory.
  Result<void> reserve(int num_tokens);
  /// `num_tokens` more were written through raw_keys()/raw_values() or layer() in a row. Error: past the capacity, no
  /// such row; the length is unchanged.
  Result<void> increment(int row, int num_tokens);
  /// Forgets a row's positions from `num_tokens` on. Error: the row has fewer, or there is no such row.
  Result<void> truncate(int row, int num_tokens);
  /// Length 0 in every row; the memory is kept.
  void reset();
  /// The same without the memory: capacity 0.
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
  std::uint64_t bytes() const;  // of the one allocation

  /// The cache as the library's kernels see it: block r, of `capacity` tokens, is row r. Valid until it grows.
  KvLayer layer() const;

 private:
  explicit ContiguousKvCache(const ContiguousKvOptions& options);
  struct Memory;  // the aligned buffer, and the kernels that write it

  bool has_row(int row) const { return row >= 0 && row < options_.batch; }
  std::size_t token_bytes() const;  // one position of one head, K or V
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
