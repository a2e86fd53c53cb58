// First half of attention over a tile: scores of a few queries, q times K, masked to what each query sees.
//
// A vector holds the scores of kLanes consecutive tokens, so a score is a sum over d in one lane. Its order is the same
// for every number of queries, layout and instruction set. Several vectors of tokens are in flight at once, because one
// chain of multiply-adds would wait for its own latency.
#pragma once

#include "kernels/generic/attention_ahead.inl"
#include "kernels/generic/elementwise.inl"
#include "kernels/generic/kv_elements.inl"

namespace octavo {
namespace {

inline constexpr float kNoScore = -__builtin_inff();

template <int N>
using Scores = float[N][kTileTokens];

/// The positions of a tile that N queries see.
template <int N>
struct TileView {
  int begin, end;                // the positions of whole vectors around all that any query sees
  int shared_begin, shared_end;  // the positions that all queries see
  int lo[N], hi[N];              // the positions that query i sees; lo == hi: none

  /// Makes positions count from `first`, a multiple of kLanes.
  void shift(int first) {
    begin -= first, end -= first, shared_begin -= first, shared_end -= first;
    for (int i = 0; i < N; ++i) lo[i] -= first, hi[i] -= first;
  }
};

/// The number of vectors of tokens whose scores are summed side by side: enough chains to hide the latency of
/// multiply-add, few enough for the level's registers. With pairs the queries' dimensions are in registers, too.
template <KvElement E, int N>
constexpr int score_vectors_at_once() {
  constexpr int kRegisters = kLanes == 8 ? 16 : 32;
  if (kInPairs<E>) return N * 4 <= kRegisters / 2 ? 4 : N * 2 <= kRegisters / 2 ? 2 : 1;
  constexpr int kMostSums = kRegisters == 16 ? 12 : 20;  // with more, GCC 12 keeps some of them in memory
  return N * 4 <= kMostSums ? 4 : N * 2 <= kRegisters / 2 ? 2 : 1;
}

/// Whether passes have few queries: levels with vectors of 8 lanes have 16 registers, which hold the sums of three
/// queries with their operands, in enough chains to hide a multiply-add's latency. More queries would have fewer
/// chains, or sums in memory. Products of pairs are half as many, and up to eight queries at once are faster.
template <KvElement E>
inline constexpr bool kSmallPasses = kLanes == 8 && !kInPairs<E>;

/// Loads the first n elements; the others are 0.
template <KvElement E>
inline I16 load_pairs_n(const typename Kv<E>::Element* p, int n) {
  typename Kv<E>::Element elements[2 * kLanes] = {};
  __builtin_memcpy(elements, p, (size_t)n * sizeof(elements[0]));
  return Kv<E>::load_pairs(elements);
}

/// The number of lines out of every 4 that are prefetched with products of pairs. The others of q8_0 are prefetched
/// while weights are rounded: that takes a third of the time, and memory must not rest meanwhile. Integers of i16 have
/// twice the lines, enough of them with the products.
template <KvElement E>
inline constexpr int kProductLines = E == KvElement::kQ8_0 ? 3 : 4;

/// The addresses of T vectors of K.
template <class Element, int T>
struct KVectors {
  const Element* k[T];         // dimension d (in pairs: dimensions 2 d and 2 d + 1) at k + d * stride
  const uint16_t* k_scale[T];  // in pairs: the scale of segment g at k_scale + g * scale_stride
  size_t stride, scale_stride;
};

/// Prefetches as many lines as T vectors of K take up, kProductLines of every 4. One or two queries leave memory no
/// time for T lines at once: it would drop some.
template <KvElement E, int N, int T>
OCTAVO_KERNEL_PART void fetch_by_pairs(Ahead& ahead, int pair) {
  constexpr int kPairsPerLine = 64 / (2 * kLanes * (int)sizeof(typename Kv<E>::Element));
  if constexpr (N <= 2 && T % kPairsPerLine == 0) {
    if (pair % 4 < kProductLines<E>) fetch_lines<E, N, T / kPairsPerLine>(ahead);
  } else {
    if (pair % kPairsPerLine == 0 && pair / kPairsPerLine % 4 < kProductLines<E>) fetch_lines<E, N, T>(ahead);
  }
}

/// The distance from one query to the next in elements: no power of two, so that their lines do not fall into the same
/// sets of a cache.
inline constexpr int kQueryStride = kMaxHeadDim + 32;

/// The largest sum of the magnitudes of kCount integers whose products with integers up to kTop stay below 2^31; below,
/// whether 16-bit integers can exceed it.
template <KvElement E, int kCount>
inline constexpr float kSumTop = (float)((1U << 31) / Kv<E>::kTop) - (float)kCount;  // rounding adds half for each
template <KvElement E, int kCount>
inline constexpr bool kSumBounds = kSumTop<E, kCount> < 32767.0F * (float)kCount;

/// The value that becomes the largest int16 when kCount values are rounded; `top` is the largest of their magnitudes
/// and `sum` the sum of them. The sum of their products with integers up to kTop then stays below 2^31.
template <KvElement E, int kCount>
inline float int16_top(float top, float sum) {
  if (!kSumBounds<E, kCount>) return top;
  const float by_sum = sum * (32767.0F / kSumTop<E, kCount>);
  return top > by_sum ? top : by_sum;
}

/// The sum of |values[0 .. n)| in 16 lanes.
__attribute__((noinline)) float sum_of_magnitudes(const float* values, int n) {
  F32 sums[kWideVectors];
  for (F32& sum : sums) sum = f32_zero();
  for (int d = 0; d < n; d += kWideLanes)
    for (int v = 0; v < kWideVectors; ++v) {
      const int left = n - d - v * kLanes;
      if (left > 0)
        sums[v] = f32_add(sums[v], f32_abs(f32_load_n(values + d + v * kLanes, left < kLanes ? left : kLanes)));
    }
  return sum_of_lanes(sums);
}

/// N queries side by side, found from one address.
template <KvElement E, int N>
struct Queries {
  float q[N][kQueryStride];

  Queries(const float* const (&from)[N], int k_dim, bool /*sums_of_16*/) {
    for (int i = 0; i < N; ++i)
      for_vectors(
          k_dim, [&](int64_t d) { f32_store(q[i] + d, f32_load(from[i] + d)); },
          [&](int64_t d, int n) { f32_store_n(q[i] + d, f32_load_n(from[i] + d, n), n); });
  }
};

/// N queries for elements in pairs, as int16, so that scores are sums of integer products. Each query has one factor:
/// its largest value becomes at most 2^15 - 1, and the magnitudes in a segment add up to at most what 32 bits hold of
/// products with kTop. The rounding error, about 2^-15 of the largest, is below that of K.
template <KvElement E, int N>
  requires(kInPairs<E>)
struct Queries<E, N> {
  int16_t q[N][kQueryStride];  // zeros up to a whole segment
  float unit[N];               // the value of a score of 1

  Queries(const float* const (&from)[N], int k_dim, bool sums_of_16) {
    for (int i = 0; i < N; ++i) {
      const float top = top_of(from[i], k_dim, sums_of_16);
      unit[i] = top > 0 ? top * (Kv<E>::kUnit / 32767.0F) : 1.0F;
      const F32 all = f32_set(top > 0 ? 32767.0F / top : 0.0F);
      for_vectors(
          k_dim, [&](int64_t d) { i32_store_i16(q[i] + d, f32_round(f32_mul(f32_load(from[i] + d), all))); },
          [&](int64_t d, int n) { i32_store_i16(q[i] + d, f32_round(f32_mul(f32_load_n(from[i] + d, n), all))); });
      for (int d = (k_dim + kLanes - 1) / kLanes * kLanes; d % Kv<E>::kScaleDims != 0; ++d) q[i][d] = 0;
    }
  }

 private:
  static float top_of(const float* values, int k_dim, bool sums_of_16) {
    float top = 0;
    for (int begin = 0; begin < k_dim; begin += Kv<E>::kScaleDims) {
      const int count = k_dim - begin < Kv<E>::kScaleDims ? k_dim - begin : Kv<E>::kScaleDims;
      F32 magnitude = f32_zero(), sum = f32_zero();
      const auto take = [&](F32 v) {
        magnitude = f32_max(magnitude, f32_abs(v));
        sum = f32_add(sum, f32_abs(v));
      };
      for_vectors(
          count, [&](int64_t d) { take(f32_load(values + begin + d)); },
          [&](int64_t d, int n) { take(f32_load_n(values + begin + d, n)); });
      const float magnitudes = sums_of_16 ? sum_of_magnitudes(values + begin, count) : f32_sum(sum);
      const float of_segment = int16_top<E, Kv<E>::kScaleDims>(f32_max_of(magnitude), magnitudes);
      top = of_segment > top ? of_segment : top;
    }
    return top;
  }
};

/// acc + a * b, in a loop over N queries. With the most queries, GCC 12 runs out of registers unless it is told which
/// one to overwrite; with fewer it does better by itself.
template <int N>
OCTAVO_KERNEL_PART F32 add_product(F32 acc, F32 a, F32 b) {
  return N == kMaxTileQueries ? f32_add_product(acc, a, b) : f32_fma(a, b, acc);
}

/// Keeps a sum of add_product() in its register after the loop.
template <int N>
OCTAVO_KERNEL_PART void keep_sum(F32& sum) {
  if constexpr (N == kMaxTileQueries) keep_in_register(sum);
}

/// s[i][t] = the sum over d of q[d][i] * k[t][d], d ascending.
template <KvElement E, int N, int T>
inline void score_vectors(const Queries<E, N>& queries, int k_dim, const KVectors<typename Kv<E>::Element, T>& from,
                          Ahead& lines_ahead, F32 (&s)[N][T]) {
  constexpr int kBytes = kLanes * (int)sizeof(typename Kv<E>::Element);
  constexpr int kDimsPerLine = kBytes >= 64 ? 1 : 64 / kBytes;
  const typename Kv<E>::Element* k[T];
  F32 acc[N][T];
  for (int t = 0; t < T; ++t) {
    k[t] = from.k[t];
    for (int i = 0; i < N; ++i) acc[i][t] = f32_zero();
  }
  const auto add = [&](int d) __attribute__((always_inline)) {
#pragma GCC unroll 8
    for (int t = 0; t < T; ++t) {
      const F32 values = Kv<E>::load(k[t]);
      k[t] += from.stride;
#pragma GCC unroll 8
      for (int i = 0; i < N; ++i) acc[i][t] = add_product<N>(acc[i][t], f32_set(queries.q[i][d]), values);
    }
  };
  Ahead ahead = lines_ahead;
  int d = 0;
  for (; d + kDimsPerLine <= k_dim; d += kDimsPerLine) {
#pragma GCC unroll 8
    for (int u = 0; u < kDimsPerLine; ++u) add(d + u);
    fetch_lines<E, N, T>(ahead);
  }
  for (; d < k_dim; ++d) add(d);
  lines_ahead = ahead;
#pragma GCC unroll 8
  for (int t = 0; t < T; ++t)
#pragma GCC unroll 8
    for (int i = 0; i < N; ++i) keep_sum<N>(acc[i][t]);
  for (int t = 0; t < T; ++t)
    for (int i = 0; i < N; ++i) s[i][t] = acc[i][t];
}

/// Adds the products of one segment, of `num_pairs` pairs in all, to s: a sum of integers, exact in any order, times
/// the scale of K. Meanwhile kProductLines of every 4 lines ahead are prefetched; round_weights prefetches the others.
/// A function of its own, so that the integers have all registers and the scores none.
template <KvElement E, int N, int T>
__attribute__((noinline)) void add_segment(const Queries<E, N>& queries,
                                           const KVectors<typename Kv<E>::Element, T>& from, int segment, int num_pairs,
                                           Ahead& lines_ahead, F32 (&s)[N][T]) {
  constexpr int kSegmentPairs = Kv<E>::kScaleDims / 2;
  const int first = segment * kSegmentPairs,
            end = first + kSegmentPairs < num_pairs ? first + kSegmentPairs : num_pairs;
  const size_t stride = from.stride;
  const typename Kv<E>::Element* k[T];
  I32 sum[N][T];
#pragma GCC unroll 8
  for (int t = 0; t < T; ++t) {
    k[t] = from.k[t] + (size_t)first * stride;
#pragma GCC unroll 8
    for (int i = 0; i < N; ++i) sum[i][t] = i32_zero();
  }
  Ahead ahead = lines_ahead;
  for (int pair = first; pair < end; ++pair) {
    I16 q[N];  // loaded once for all T
#pragma GCC unroll 8
    for (int i = 0; i < N; ++i) q[i] = i16_broadcast2(queries.q[i] + 2 * pair);
#pragma GCC unroll 8
    for (int t = 0; t < T; ++t) {
      const I16 values = Kv<E>::load_pairs(k[t]);
      k[t] += stride;
#pragma GCC unroll 8
      for (int i = 0; i < N; ++i) sum[i][t] = dot_pairs(sum[i][t], values, q[i]);
    }
    fetch_by_pairs<E, N, T>(ahead, pair);
  }
  lines_ahead = ahead;
#pragma GCC unroll 8
  for (int t = 0; t < T; ++t)
#pragma GCC unroll 8
    for (int i = 0; i < N; ++i) keep_in_register(sum[i][t]);
#pragma GCC unroll 8
  for (int t = 0; t < T; ++t) {
    const F32 scale = f32_load_f16(from.k_scale[t] + (size_t)segment * from.scale_stride);
#pragma GCC unroll 8
    for (int i = 0; i < N; ++i) s[i][t] = f32_fma(i32_to_f32(sum[i][t]), scale, s[i][t]);
  }
}

/// Computes score_vectors() for pairs of dimensions. s counts in the queries' units.
template <KvElement E, int N, int T>
  requires(kInPairs<E>)
inline void score_vectors(const Queries<E, N>& queries, int k_dim, const KVectors<typename Kv<E>::Element, T>& from,
                          Ahead& ahead, F32 (&s)[N][T]) {
  for (int t = 0; t < T; ++t)
    for (int i = 0; i < N; ++i) s[i][t] = f32_zero();
  for (int segment = 0; segment < segments_of<E>(k_dim); ++segment)
    add_segment<E, N, T>(queries, from, segment, (k_dim + 1) / 2, ahead, s);
}

/// Computes the scores of T vectors of tokens from `position`, each vector within one block.
template <KvElement E, int N, int T>
inline void scores_in_blocks(const KvLayer& kv, const AttentionItem& item, const Queries<E, N>& q, int position,
                             Ahead& ahead, F32 (&s)[N][T]) {
  using Element = typename Kv<E>::Element;
  KVectors<Element, T> from;
  constexpr int kDims = kInPairs<E> ? 2 : 1;  // the dimensions that lie side by side
  from.scale_stride = (size_t)kv.block_size;
  from.stride = kDims * from.scale_stride;
  int block = position / kv.block_size, token = position % kv.block_size;
  for (int t = 0; t < T; ++t) {
    const KvHead<Element> at = kv_head<E>(kv, item.blocks[block], item.kv_head);
    from.k[t] = at.k + kDims * token;
    if constexpr (kInPairs<E>) from.k_scale[t] = at.k_scale + token;
    token += kLanes;
    if (token == kv.block_size) token = 0, ++block;
  }
  score_vectors(q, kv.k_dim, from, ahead, s);
}

/// Puts K of one token, element by element, into lane `lane` of k[d] (in pairs: of two dimensions).
template <KvElement E>
inline void gather_k(const KvLayer& kv, const typename Kv<E>::Element* head, int token, int lane,
                     typename Kv<E>::Element* k) {
  const size_t dim = (size_t)kv.k_dim, bs = (size_t)kv.block_size;
  if constexpr (kInPairs<E>) {
    for (size_t pair = 0; pair < (dim + 1) / 2; ++pair)
      __builtin_memcpy(k + 2 * (pair * kLanes + (size_t)lane), head + 2 * (pair * bs + (size_t)token), 2 * sizeof(*k));
  } else {
    const bool by_token = kv.k_order == KOrder::kTokenMajor;
    const auto* from = head + (size_t)token * (by_token ? (size_t)kv.token_stride : 1);
    const size_t step = by_token ? 1 : bs;
    for (size_t d = 0; d < dim; ++d) k[d * kLanes + (size_t)lane] = from[d * step];
  }
}

/// Computes the scores of kLanes tokens whose K is not one vector per dimension, because a block is shorter than that
/// or K lies token by token. K is gathered first. Tokens outside the item read as zero, without a look at their blocks,
/// which may be gone; the caller masks them.
template <KvElement E, int N>
__attribute__((noinline)) void scores_gathered(const KvLayer& kv, const AttentionItem& item, const Queries<E, N>& q,
                                               int position, F32 (&s)[N][1]) {
  using Element = typename Kv<E>::Element;
  Element k[kMaxHeadDim * kLanes];
  uint16_t scales[kMaxHeadDim / kQ8ScaleDims][kLanes];
  const size_t dims = (size_t)(kv.k_dim + 1) / 2 * 2;  // products in pairs read one more
  __builtin_memset(k, 0, dims * kLanes * sizeof(Element));
  __builtin_memset(scales, 0, sizeof(scales));
  const int first = item.begin > position ? item.begin - position : 0;
  const int end = item.end - position < kLanes ? item.end - position : kLanes;
  for (int lane = first; lane < end; ++lane) {
    const int token = (position + lane) % kv.block_size;
    const auto at = kv_head<E>(kv, item.blocks[(position + lane) / kv.block_size], item.kv_head);
    gather_k<E>(kv, at.k, token, lane, k);
    if constexpr (kInPairs<E>) {
      for (int g = 0; g < segments_of<E>(kv.k_dim); ++g)
        scales[g][lane] = at.k_scale[(size_t)g * (size_t)kv.block_size + (size_t)token];
    }
  }
  constexpr size_t kStride = (kInPairs<E> ? 2 : 1) * kLanes;
  Ahead none;
  score_vectors(q, kv.k_dim, KVectors<Element, 1>{{k}, {scales[0]}, kStride, kLanes}, none, s);
}

/// Stores T vectors of scores, masked where a query does not see all of them, and keeps the largest.
template <int N, int T>
inline void store_scores(const TileView<N>& view, int position, const F32 (&s)[N][T], Scores<N>& scores,
                         F32 (&top)[N]) {
  const bool all_seen = position >= view.shared_begin && position + T * kLanes <= view.shared_end;
  for (int i = 0; i < N; ++i)
    for (int t = 0; t < T; ++t) {
      const int at = position + t * kLanes;
      F32 seen = s[i][t];
      if (!all_seen) seen = f32_select(lanes_between(view.lo[i] - at, view.hi[i] - at), seen, f32_set(kNoScore));
      top[i] = f32_max(top[i], seen);
      f32_store(scores[i] + (at - view.begin), seen);
    }
}

/// Computes the scores of a tile; top[i] is query i's largest.
template <KvElement E, int N>
inline void tile_scores(const KvLayer& kv, const AttentionItem& item, const Queries<E, N>& q, const TileView<N>& view,
                        Ahead& ahead, Scores<N>& scores, F32 (&top)[N]) {
  for (int i = 0; i < N; ++i) top[i] = f32_set(kNoScore);
  int position = view.begin;
  if (kv.k_order == KOrder::kDimMajor && kv.block_size >= kLanes) {
    constexpr int kVectors = score_vectors_at_once<E, N>();
    for (; position + kVectors * kLanes <= view.end; position += kVectors * kLanes) {
      F32 s[N][kVectors];
      scores_in_blocks<E, N, kVectors>(kv, item, q, position, ahead, s);
      store_scores<N, kVectors>(view, position, s, scores, top);
    }
    for (; position < view.end; position += kLanes) {
      F32 s[N][1];
      scores_in_blocks<E, N, 1>(kv, item, q, position, ahead, s);
      store_scores<N, 1>(view, position, s, scores, top);
    }
  }
  for (; position < view.end; position += kLanes) {
    F32 s[N][1];
    scores_gathered<E, N>(kv, item, q, position, s);
    store_scores<N, 1>(view, position, s, scores, top);
  }
}

}  // namespace
}  // namespace octavo
