// Sequences of random keys, values and queries for the tests of BatchedAttention, the memories that hold them, and the
// float64 reference.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <numeric>
#include <random>
#include <span>
#include <vector>

#include "base/cpu_info.h"
#include "kv_library/kv_values.h"
#include "octavo/kv/attention.h"

namespace octavo {

inline constexpr KvType kAllKvTypes[] = {KvType::kF32, KvType::kF16, KvType::kBF16, KvType::kQ8_0, KvType::kI16};

struct AttentionShape {
  int num_kv_heads = 2;
  int group = 2;  // query heads of a KV head
  int head_dim = 64;

  int num_heads() const { return num_kv_heads * group; }
  std::size_t token_floats() const { return static_cast<std::size_t>(num_kv_heads * head_dim); }
  std::size_t row_floats() const { return static_cast<std::size_t>(num_heads() * head_dim); }
  AttentionOptions options(int window = 0) const {
    return {.num_heads = num_heads(), .scale = 1.0F / std::sqrt(static_cast<float>(head_dim)), .window = window};
  }
};

/// One sequence; its last `num_rows` positions have queries.
struct SlotData {
  int length = 0, num_rows = 1;
  std::vector<float> keys = {}, values = {};  // [length][num_kv_heads][head_dim]
  std::vector<float> queries = {};            // [num_rows][num_heads][head_dim]
};

inline std::vector<float> normal_floats(std::size_t count, std::mt19937& random) {
  std::normal_distribution<float> normal;
  std::vector<float> values(count);
  for (float& x : values) x = normal(random);
  return values;
}

inline SlotData make_slot(const AttentionShape& shape, int length, std::mt19937& random, int num_rows = 1) {
  SlotData slot{.length = length, .num_rows = num_rows};
  slot.keys = normal_floats(static_cast<std::size_t>(length) * shape.token_floats(), random);
  slot.values = normal_floats(slot.keys.size(), random);
  slot.queries = normal_floats(static_cast<std::size_t>(num_rows) * shape.row_floats(), random);
  return slot;
}

inline std::vector<SlotData> make_slots(const AttentionShape& shape, std::span<const int> lengths, unsigned seed = 1) {
  std::mt19937 random(seed);
  std::vector<SlotData> slots;
  slots.reserve(lengths.size());
  for (const int length : lengths) slots.push_back(make_slot(shape, length, random));
  return slots;
}

/// Queries of all slots, one after the other.
inline std::vector<float> queries_of(std::span<const SlotData> slots) {
  std::vector<float> queries;
  for (const SlotData& slot : slots) queries.insert(queries.end(), slot.queries.begin(), slot.queries.end());
  return queries;
}

inline std::span<const float> tokens_of(const AttentionShape& shape, const std::vector<float>& data, int begin,
                                        int end) {
  return std::span(data).subspan(static_cast<std::size_t>(begin) * shape.token_floats(),
                                 static_cast<std::size_t>(end - begin) * shape.token_floats());
}

/// Positions begin .. end - 1 of a slot's data, into layer 0.
inline void write_tokens(PagedKvCache& cache, SequenceId id, const AttentionShape& shape, const SlotData& slot,
                         int begin, int end) {
  const Result<void> written = cache.write_kv(id, 0, begin, tokens_of(shape, slot.keys, begin, end),
                                              tokens_of(shape, slot.values, begin, end), end - begin);
  EXPECT_TRUE(written) << (written ? "" : written.error().message);
}

/// A cache of one layer, of blocks for so many tokens.
inline std::unique_ptr<PagedKvCache> make_paged(const AttentionShape& shape, KvType type, int block_size,
                                                std::int64_t num_tokens, int window = 0) {
  return make_cache({.type = type,
                     .block_size = block_size,
                     .num_kv_heads = shape.num_kv_heads,
                     .head_dim = shape.head_dim,
                     .layer_windows = {window},
                     .num_blocks = static_cast<int>((num_tokens + block_size - 1) / block_size)});
}

/// Slots in blocks of their own.
struct PagedSlots {
  PagedSlots() = default;
  PagedSlots(const AttentionShape& shape, KvType type, int block_size, std::span<const SlotData> slots) {
    std::int64_t num_tokens = 0;
    for (const SlotData& slot : slots) num_tokens += slot.length + block_size;
    cache = make_paged(shape, type, block_size, num_tokens);
    for (const SlotData& slot : slots) {
      ids.push_back(cache->create_sequence());
      rows.push_back({ids.back(), slot.num_rows});
      write_tokens(*cache, ids.back(), shape, slot, 0, slot.length);
    }
  }
  std::unique_ptr<PagedKvCache> cache;
  std::vector<SequenceId> ids;
  std::vector<ChunkRows> rows;
};

inline ContiguousKvCache make_contiguous(const AttentionShape& shape, KvType type, std::span<const SlotData> slots) {
  int longest = 1;
  for (const SlotData& slot : slots) longest = std::max(longest, slot.length);
  ContiguousKvCache cache = *ContiguousKvCache::create({.type = type,
                                                        .batch = static_cast<int>(slots.size()),
                                                        .num_kv_heads = shape.num_kv_heads,
                                                        .head_dim = shape.head_dim,
                                                        .max_seq_len = longest});
  for (std::size_t s = 0; s < slots.size(); ++s)
    EXPECT_TRUE(cache.update_row(static_cast<int>(s), slots[s].keys, slots[s].values, slots[s].length));
  return cache;
}

inline BatchedKvView make_view(const AttentionShape& shape, std::span<const SlotData> slots) {
  BatchedKvView view(shape.num_kv_heads, shape.head_dim);
  for (const SlotData& slot : slots)
    view.add_borrowed({.keys = slot.keys, .values = slot.values, .position = slot.length});
  return view;
}

inline BatchedAttention make_attention(int num_threads = 1, std::string_view isa = "auto") {
  return *BatchedAttention::create(num_threads, std::string(isa));
}

/// Calls `attend(out)` with an output full of NaN, and gives it.
template <class F>
std::vector<float> output_of(std::size_t num_floats, const F& attend) {
  std::vector<float> out(num_floats, std::numeric_limits<float>::quiet_NaN());
  const Result<void> done = attend(std::span<float>(out));
  EXPECT_TRUE(done) << (done ? "" : done.error().message);
  return out;
}

inline std::vector<float> decode(BatchedAttention& attention, const PagedSlots& slots,
                                 const std::vector<float>& queries, const AttentionOptions& options) {
  return output_of(queries.size(), [&](std::span<float> out) {
    return attention.decode(*slots.cache, 0, slots.ids, queries, options, out);
  });
}

/// Of a BatchedKvView or a ContiguousKvCache.
template <class Memory>
std::vector<float> decode(BatchedAttention& attention, const Memory& memory, const std::vector<float>& queries,
                          const AttentionOptions& options) {
  return output_of(queries.size(),
                   [&](std::span<float> out) { return attention.decode(memory, queries, options, out); });
}

inline std::vector<float> chunk(BatchedAttention& attention, const PagedKvCache& cache, std::span<const ChunkRows> rows,
                                std::span<const float> queries, const AttentionOptions& options) {
  return output_of(queries.size(),
                   [&](std::span<float> out) { return attention.chunk(cache, 0, rows, queries, options, out); });
}

inline bool same_bits(std::span<const float> a, std::span<const float> b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size_bytes()) == 0;
}

/// Of the query row at position `end` - 1: [num_heads][head_dim].
inline std::vector<double> reference_row(const AttentionShape& shape, const SlotData& slot,
                                         std::span<const float> queries, const AttentionOptions& options, int end) {
  const auto dim = static_cast<std::size_t>(shape.head_dim);
  const int first = options.window > 0 ? std::max(0, end - options.window) : 0;
  std::vector<double> out(shape.row_floats()), weights(static_cast<std::size_t>(end - first));
  for (std::size_t head = 0; head < static_cast<std::size_t>(shape.num_heads()); ++head) {
    const std::size_t kv = head / static_cast<std::size_t>(shape.group) * dim;
    const auto at = [&](std::size_t t) { return (static_cast<std::size_t>(first) + t) * shape.token_floats() + kv; };
    for (std::size_t t = 0; t < weights.size(); ++t)
      weights[t] =
          options.scale * std::inner_product(&queries[head * dim], &queries[head * dim] + dim, &slot.keys[at(t)], 0.0);
    const double top = *std::ranges::max_element(weights);
    for (double& x : weights) x = std::exp(x - top);
    const double total = std::accumulate(weights.begin(), weights.end(), 0.0);
    for (std::size_t t = 0; t < weights.size(); ++t)
      for (std::size_t d = 0; d < dim; ++d) out[head * dim + d] += weights[t] / total * slot.values[at(t) + d];
  }
  return out;
}

/// Of all rows of all slots.
inline std::vector<double> reference(const AttentionShape& shape, std::span<const SlotData> slots,
                                     const AttentionOptions& options) {
  std::vector<double> out;
  for (const SlotData& slot : slots)
    for (int row = 0; row < slot.num_rows; ++row) {
      const auto queries =
          std::span(slot.queries).subspan(static_cast<std::size_t>(row) * shape.row_floats(), shape.row_floats());
      const auto of_row = reference_row(shape, slot, queries, options, slot.length - slot.num_rows + row + 1);
      out.insert(out.end(), of_row.begin(), of_row.end());
    }
  return out;
}

/// The largest difference; NaN and infinities count as infinite, and so do different lengths.
inline double largest_error(std::span<const float> got, std::span<const double> expected) {
  if (got.size() != expected.size()) return std::numeric_limits<double>::infinity();
  double largest = 0;
  for (std::size_t i = 0; i < got.size(); ++i) {
    const double error = std::abs(got[i] - expected[i]);
    largest = std::isfinite(error) ? std::max(largest, error) : std::numeric_limits<double>::infinity();
  }
  return largest;
}

/// The slots as the cache rounded them.
inline std::vector<SlotData> as_stored(const AttentionShape& shape, const PagedSlots& paged,
                                       std::span<const SlotData> slots) {
  std::vector<SlotData> stored(slots.begin(), slots.end());
  const std::size_t token = shape.token_floats();
  for (std::size_t s = 0; s < stored.size(); ++s)
    for (std::size_t t = 0; t < static_cast<std::size_t>(stored[s].length); ++t)
      EXPECT_TRUE(paged.cache->read_kv(paged.ids[s], 0, static_cast<std::int64_t>(t),
                                       std::span(stored[s].keys).subspan(t * token, token),
                                       std::span(stored[s].values).subspan(t * token, token)));
  return stored;
}

}  // namespace octavo
