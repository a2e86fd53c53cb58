// Attention as its definition says, over positions that `read` gives, for fuzz targets that compare with it.
#pragma once

#include <algorithm>
#include <cmath>
#include <numeric>
#include <span>
#include <vector>

#include "fuzz_bytes.h"
#include "octavo/kv/attention.h"

namespace octavo {

/// As far as a result may be from the definition's, where values are at most 64 and scores a few units.
inline double attention_tolerance(KvType type) {
  switch (type) {
    case KvType::kQ8_0: return 2.5;  // weights and queries of 8 bits
    case KvType::kI16: return 0.25;  // of 14
    default: return 0.02;
  }
}

/// Queries small enough that no score of `num_rows` rows takes all the weight.
inline std::vector<float> fuzz_queries(Bytes& bytes, std::size_t count) {
  std::vector<float> queries(count);
  const int seed = bytes.next();
  for (std::size_t i = 0; i < count; ++i)
    queries[i] = static_cast<float>((i * 37 + static_cast<std::size_t>(seed)) % 17) / 8.0F - 1.0F;
  return queries;
}

/// One query row of `num_heads` heads that sees positions first .. end - 1; read(position, key, value) gives
/// [num_kv_heads][head_dim] each.
template <class Read>
std::vector<double> attention_row(std::span<const float> query, const AttentionOptions& options, int num_kv_heads,
                                  int head_dim, int first, int end, const Read& read) {
  const auto dim = static_cast<std::size_t>(head_dim);
  const auto heads = static_cast<std::size_t>(options.num_heads);
  const std::size_t group = heads / static_cast<std::size_t>(num_kv_heads);
  std::vector<float> key(static_cast<std::size_t>(num_kv_heads) * dim), value(key.size());
  std::vector<double> out(heads * dim), totals(heads);
  for (int position = first; position < end; ++position) {
    read(position, std::span(key), std::span(value));
    for (std::size_t h = 0; h < heads; ++h) {
      const std::size_t kv = h / group * dim;
      const double score = options.scale * std::inner_product(&query[h * dim], &query[h * dim] + dim, &key[kv], 0.0);
      const double weight = std::exp(score);
      totals[h] += weight;
      for (std::size_t d = 0; d < dim; ++d) out[h * dim + d] += weight * value[kv + d];
    }
  }
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = totals[i / dim] > 0 ? out[i] / totals[i / dim] : 0;
  return out;
}

inline void check_near(std::span<const float> got, std::span<const double> expected, KvType type) {
  FUZZ_CHECK(got.size() == expected.size());
  for (std::size_t i = 0; i < got.size(); ++i) FUZZ_CHECK(std::abs(got[i] - expected[i]) < attention_tolerance(type));
}

/// Of one thread, and kernels that the input chooses.
inline BatchedAttention& fuzz_attention(Bytes& bytes) {
  static BatchedAttention fastest = *BatchedAttention::create(1), scalar = *BatchedAttention::create(1, "scalar");
  return bytes.below(2) == 0 ? fastest : scalar;
}

}  // namespace octavo
