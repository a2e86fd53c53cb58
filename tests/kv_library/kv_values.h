// Short ways for tests to fill a paged cache and to read it back.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "octavo/kv/paged_kv_cache.h"

namespace octavo {

inline std::unique_ptr<PagedKvCache> make_cache(const PagedKvOptions& options) {
  Result<std::unique_ptr<PagedKvCache>> cache = PagedKvCache::create(options);
  EXPECT_TRUE(cache) << (cache ? "" : cache.error().message);
  return cache ? std::move(*cache) : nullptr;
}

/// Four tokens a block, two layers that see everything, two heads of three dimensions.
inline PagedKvOptions small(int num_blocks = 8) {
  return {.type = KvType::kF32,
          .block_size = 4,
          .num_kv_heads = 2,
          .head_dim = 3,
          .layer_windows = {0, 0},
          .num_blocks = num_blocks};
}

inline void expect_intact(const PagedKvCache& cache) {
  const Result<void> intact = cache.check_integrity();
  EXPECT_TRUE(intact) << intact.error().message;
}

/// [num_kv_heads * head_dim] floats that tell from which number, and where, they come.
inline std::vector<float> kv_of(const PagedKvCache& cache, float x) {
  std::vector<float> values(static_cast<std::size_t>(cache.num_kv_heads() * cache.head_dim()));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = x + static_cast<float>(i) / 256;
  return values;
}

/// Writes x as the key and -x as the value of one position.
inline Result<void> write_number(PagedKvCache& cache, SequenceId id, int layer, std::int64_t position, float x) {
  return cache.write_kv(id, layer, position, kv_of(cache, x), kv_of(cache, -x));
}

/// The number that a position's key and value come from; NaN where it cannot be read or is something else.
inline float read_number(const PagedKvCache& cache, SequenceId id, int layer, std::int64_t position) {
  std::vector<float> key = kv_of(cache, 0), value = key;
  if (!cache.read_kv(id, layer, position, key, value)) return NAN;
  const float x = key[0];
  return key == kv_of(cache, x) && value == kv_of(cache, -x) ? x : NAN;
}

/// One step of an engine: positions from the sequence's length to `end`, numbers counted from `x`, in all layers.
inline Result<void> step_to(PagedKvCache& cache, SequenceId id, std::int64_t end, float x) {
  const std::int64_t first = cache.sequence_length(id);
  if (const Result<void> reserved = cache.reserve(id, first, end); !reserved) return reserved;
  for (int layer = 0; layer < cache.num_layers(); ++layer)
    for (std::int64_t position = first; position < end; ++position)
      if (const auto written = write_number(cache, id, layer, position, x + static_cast<float>(position)); !written)
        return written;
  cache.commit(id, end);
  return {};
}

/// The message of an error.
template <class T>
std::string error_of(const Result<T>& result) {
  return result ? "no error" : result.error().message;
}
/// The KV memory has no room for it.
template <class T>
bool is_out_of_blocks(const Result<T>& result) {
  return !result && result.error().kind == ErrorKind::kOutOfBlocks;
}

}  // namespace octavo
