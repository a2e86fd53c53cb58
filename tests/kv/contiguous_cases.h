// Small contiguous caches whose elements tell their place, for the tests of ContiguousKvCache.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <span>
#include <stdexcept>
#include <utility>
#include <vector>

#include "octavo/kv/contiguous_kv_cache.h"
#include "tensor/dequantize.h"

namespace octavo {

inline constexpr ContiguousKvOptions kSmall{
    .type = KvType::kF32, .batch = 2, .num_kv_heads = 2, .head_dim = 4, .initial_capacity = 4, .max_seq_len = 20};

inline ContiguousKvCache make(const ContiguousKvOptions& options = kSmall) {
  Result<ContiguousKvCache> cache = ContiguousKvCache::create(options);
  if (!cache) throw std::runtime_error(cache.error().message);
  return std::move(*cache);
}

inline constexpr float kLargestValue = 127;
/// The value that the tests put at a place; exact in every element type without scales.
inline float value_at(bool is_value, int row, int head, int position, int d) {
  return static_cast<float>(((row * 5 + head) * 7 + position) % 16 * 8 + d % 8) * (is_value ? -1.0F : 1.0F);
}

struct KeysAndValues {
  std::vector<float> keys, values;
};

/// `num_tokens` tokens of every row in `rows`, positions counted from the row's length on.
inline KeysAndValues tokens_of(const ContiguousKvCache& cache, std::span<const int> rows, int num_tokens,
                               bool heads_first) {
  KeysAndValues result;
  const int heads = cache.num_kv_heads();
  for (const int row : rows)
    for (int i = 0; i < heads * num_tokens; ++i) {
      const int head = heads_first ? i / num_tokens : i % heads;
      const int position = cache.length(row) + (heads_first ? i % num_tokens : i / heads);
      for (int d = 0; d < cache.head_dim(); ++d) {
        result.keys.push_back(value_at(false, row, head, position, d));
        result.values.push_back(value_at(true, row, head, position, d));
      }
    }
  return result;
}

inline std::vector<int> all_rows(const ContiguousKvCache& cache) {
  std::vector<int> rows;
  for (int row = 0; row < cache.batch_size(); ++row) rows.push_back(row);
  return rows;
}

inline Result<void> append(ContiguousKvCache& cache, int num_tokens) {
  const KeysAndValues kv = tokens_of(cache, all_rows(cache), num_tokens, true);
  return cache.update(kv.keys, kv.values, num_tokens);
}

inline Result<void> append_fused(ContiguousKvCache& cache, int num_tokens) {
  const KeysAndValues kv = tokens_of(cache, all_rows(cache), num_tokens, false);
  return cache.update_fused(kv.keys, kv.values, num_tokens);
}

inline Result<void> append_row(ContiguousKvCache& cache, int row, int num_tokens) {
  const KeysAndValues kv = tokens_of(cache, std::array{row}, num_tokens, false);
  return cache.update_row(row, kv.keys, kv.values, num_tokens);
}

inline float element(const ContiguousKvView& view, bool is_value, int row, int head, int position, int d) {
  const std::ptrdiff_t at =
      row * view.row_stride + head * view.head_stride + position * view.position_stride + std::ptrdiff_t{d};
  const std::byte* data = is_value ? view.values : view.keys;
  if (view.type == KvType::kF32) {
    float value = 0;
    std::memcpy(&value, data + at * 4, sizeof value);
    return value;
  }
  std::uint16_t bits = 0;
  std::memcpy(&bits, data + at * 2, sizeof bits);
  if (view.type != KvType::kI16) return view.type == KvType::kF16 ? f16_to_f32(bits) : bf16_to_f32(bits);
  std::uint16_t scale = 0;
  std::memcpy(&scale, data + (at - d + view.head_dim + d / 64) * 2, sizeof scale);
  return static_cast<float>(static_cast<std::int16_t>(bits)) * f16_to_f32(scale) * 0x1p-13F;
}

/// Every written position of every row holds what value_at() says.
inline void expect_contents(const ContiguousKvCache& cache) {
  const Result<ContiguousKvView> view = cache.get_kv();
  ASSERT_TRUE(view);
  for (int row = 0; row < view->batch; ++row)
    for (int head = 0; head < view->num_kv_heads; ++head)
      for (int position = 0; position < view->lengths[static_cast<std::size_t>(row)]; ++position)
        for (int d = 0; d < view->head_dim; ++d)
          for (const bool is_value : {false, true})
            ASSERT_NEAR(element(*view, is_value, row, head, position, d), value_at(is_value, row, head, position, d),
                        view->type == KvType::kI16 ? kLargestValue * 0x1p-13F : 0)
                << "row " << row << " head " << head << " position " << position << " d " << d;
}

}  // namespace octavo
