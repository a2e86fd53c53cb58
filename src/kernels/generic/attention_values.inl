// Second half of attention over a tile: weights times V.
//
// A vector holds consecutive dimensions of one token; each dimension is summed over tokens in ascending order. A query
// adds only tokens that it sees: a weight of zero would not keep the NaN of a token that it does not see away.
#pragma once

#include "kernels/generic/attention_scores.inl"

namespace octavo {
namespace {

/// The vectors of dimensions that are summed side by side for N queries; in pairs at most those that share a scale.
template <KvElement E, int N>
constexpr int value_vectors_at_once() {
  constexpr int most = kLanes == 8 ? (N == 1 ? 8 : N <= 3 ? 4 : N == 4 ? 2 : 1) : (N <= 3 ? 8 : N == 4 ? 4 : 2);
  if constexpr (kInPairs<E>) return Kv<E>::kScaleDims / kLanes < most ? Kv<E>::kScaleDims / kLanes : most;
  return most;
}

/// Adds weight times V of tokens begin .. end to sums[i][j], t ascending; J vectors of dimensions from d, of the last
/// of which only `lanes` exist (all, if Full). The weight of query i at position p is weights[i][p - first].
template <KvElement E, int N, int J, bool Full>
__attribute__((always_inline)) inline void add_values(const KvLayer& kv, const AttentionItem& item,
                                                      const float (*weights)[kTileTokens], int first, int begin,
                                                      int end, int d, int lanes, Ahead& lines_ahead,
                                                      F32 (&sums)[N][J]) {
  using Element = typename Kv<E>::Element;
  constexpr int kBytes = J * kLanes * (int)sizeof(Element);
  const size_t row = (size_t)kv.token_stride;
  F32 acc[N][J];
  for (int i = 0; i < N; ++i)
    for (int j = 0; j < J; ++j) acc[i][j] = sums[i][j];
  Ahead ahead = lines_ahead;
  const float* w = weights[0] + (begin - first);
  int block = begin / kv.block_size, token = begin % kv.block_size;
  for (int left = end - begin; left > 0; ++block, token = 0) {
    const Element* v = kv_head<E>(kv, item.blocks[block], item.kv_head).v + (size_t)token * row + d;
    const int here = kv.block_size - token < left ? kv.block_size - token : left;
    left -= here;
#pragma GCC unroll 2
    for (int t = 0; t < here; ++t, ++w, v += row) {
      F32 weight[N];
#pragma GCC unroll 8
      for (int i = 0; i < N; ++i) weight[i] = f32_set(w[i * kTileTokens]);
#pragma GCC unroll 8
      for (int j = 0; j < J; ++j) {
        const F32 values = Full ? Kv<E>::load(v + j * kLanes) : Kv<E>::load_n(v + j * kLanes, lanes);
#pragma GCC unroll 8
        for (int i = 0; i < N; ++i) acc[i][j] = add_product<N>(acc[i][j], weight[i], values);
      }
      if constexpr (kBytes >= 64) {
        fetch_lines<E, N, kBytes / 64>(ahead);
      } else if (t % (64 / kBytes) == 0) {
        fetch_lines<E, N, 1>(ahead);
      }
    }
  }
  lines_ahead = ahead;
#pragma GCC unroll 8
  for (int i = 0; i < N; ++i)
#pragma GCC unroll 8
    for (int j = 0; j < J; ++j) keep_sum<N>(acc[i][j]);
  for (int i = 0; i < N; ++i)
    for (int j = 0; j < J; ++j) sums[i][j] = acc[i][j];
}

/// Adds values for a single query, at positions that not all queries see.
template <KvElement E, int J, bool Full>
__attribute__((noinline)) void add_values_alone(const KvLayer& kv, const AttentionItem& item, const float* weights,
                                                int first, int begin, int end, int d, int lanes, F32 (&sums)[J]) {
  Ahead none;
  add_values<E, 1, J, Full>(kv, item, (const float(*)[kTileTokens])weights, first, begin, end, d, lanes, none,
                            (F32(&)[1][J])sums);
}

/// Computes J vectors of o from dimension d: weights times V over all that the queries see. Positions that all see
/// share their loads; each query's other positions come before and after, in order.
template <KvElement E, int N, int J, bool Full>
inline void sum_values(const KvLayer& kv, const AttentionItem& item, const TileView<N>& view, const Scores<N>& weights,
                       Ahead& ahead, int d, int lanes, float* const (&o)[N]) {
  F32 sums[N][J];
  const int shared_begin = view.shared_begin, shared_end = view.shared_end;
  for (int i = 0; i < N; ++i) {
    for (int j = 0; j < J; ++j) sums[i][j] = f32_zero();
    const int end = view.hi[i] < shared_begin ? view.hi[i] : shared_begin;
    if (view.lo[i] < end)
      add_values_alone<E, J, Full>(kv, item, weights[i], view.begin, view.lo[i], end, d, lanes, sums[i]);
  }
  add_values<E, N, J, Full>(kv, item, weights, view.begin, shared_begin, shared_end, d, lanes, ahead, sums);
  for (int i = 0; i < N; ++i) {
    const int begin = view.lo[i] > shared_end ? view.lo[i] : shared_end;
    if (begin < view.hi[i])
      add_values_alone<E, J, Full>(kv, item, weights[i], view.begin, begin, view.hi[i], d, lanes, sums[i]);
    for (int j = 0; j < J; ++j) {
      float* to = o[i] + d + j * kLanes;
      if (Full)
        f32_store(to, sums[i][j]);
      else
        f32_store_n(to, sums[i][j], lanes);
    }
  }
}

/// Computes the dimensions from `begin` to `end` of o, as many vectors at once as there are and fit.
template <KvElement E, int N, int J = value_vectors_at_once<E, N>()>
inline void sum_dimensions(const KvLayer& kv, const AttentionItem& item, const TileView<N>& view,
                           const Scores<N>& weights, Ahead& ahead, int begin, int end, float* const (&o)[N]) {
  int d = begin;
  for (; d + J * kLanes <= end; d += J * kLanes)
    sum_values<E, N, J, true>(kv, item, view, weights, ahead, d, kLanes, o);
  if constexpr (J > 1) {
    sum_dimensions<E, N, J / 2>(kv, item, view, weights, ahead, d, end, o);
  } else if (d < end) {
    sum_values<E, N, 1, false>(kv, item, view, weights, ahead, d, end - d, o);
  }
}

/// The weights times the V scales of one segment, as int16, and the value of 1.
template <int N>
struct IntWeights {
  int16_t w[N][2 * kTileTokens];  // in pairs of tokens; for a block of one token half of each pair is empty
  float scale[N];
};

/// Loads the V scales of the tile's tokens; 0 where the item does not see them.
template <KvElement E, int N>
inline void load_v_scales(const KvLayer& kv, const AttentionItem& item, const TileView<N>& view, int segment,
                          float* scales) {
  int block = view.begin / kv.block_size, token = view.begin % kv.block_size - kLanes;  // the vector before
  for (int position = view.begin; position < view.end; position += kLanes) {
    for (token += kLanes; token >= kv.block_size; token -= kv.block_size) ++block;
    const bool inside = position >= item.begin && position + kLanes <= item.end;
    float* out = scales + (position - view.begin);
    if (inside && token + kLanes <= kv.block_size) {
      const auto at = kv_head<E>(kv, item.blocks[block], item.kv_head);
      f32_store(out, f32_load_f16(at.v_scale + (size_t)segment * (size_t)kv.block_size + token));
      continue;
    }
    for (int p = position; p < position + kLanes; ++p) {
      out[p - position] = 0;
      if (p < item.begin || p >= item.end) continue;
      const auto at = kv_head<E>(kv, item.blocks[p / kv.block_size], item.kv_head);
      out[p - position] = half_value(at.v_scale + (size_t)segment * (size_t)kv.block_size + p % kv.block_size);
    }
  }
}

/// The number of lines that are prefetched for each vector of tokens while the weights of `count` of `n` queries are
/// rounded: those that are not prefetched with the products (kProductLines), spread over the queries.
template <KvElement E>
constexpr int lines_by_weights(int n, int count) {
  if (kProductLines<E> == 4) return 0;  // all are prefetched with the products
  if (n <= 4) return 2;
  return n == 8 || count < 4 ? 1 : 2;
}

/// The weights of query i times scales, for kLanes tokens from t. A token that the query does not see weighs 0,
/// whatever its integers are; its scale is left out by selection.
template <int N>
inline F32 scaled_weight(const TileView<N>& view, const Scores<N>& weights, const float* scales, bool sees_all, int i,
                         int t) {
  const F32 product = f32_mul(f32_load(weights[i] + t), f32_load(scales + t));
  if (sees_all) return product;
  const int at = view.begin + t;
  return f32_select(lanes_between(view.lo[i] - at, view.hi[i] - at), product, f32_zero());
}

/// The sum of a query's weights times scales over the positions from view_begin that it sees, in 16 lanes.
__attribute__((noinline)) float sum_of_products(const float* weights, const float* scales, int view_begin, int view_end,
                                                int lo, int hi) {
  F32 sums[kWideVectors];
  for (F32& sum : sums) sum = f32_zero();
  for (int first = view_begin / kWideLanes * kWideLanes; first < view_end; first += kWideLanes)
    for (int v = 0; v < kWideVectors; ++v) {
      const int at = first + v * kLanes;
      if (at < view_begin || at >= view_end) continue;
      const F32 product = f32_mul(f32_load(weights + (at - view_begin)), f32_load(scales + (at - view_begin)));
      sums[v] = f32_add(sums[v], f32_select(lanes_between(lo - at, hi - at), product, f32_zero()));
    }
  return sum_of_lanes(sums);
}

/// Rounds the weights of queries first .. first + C side by side: each waits for the largest of its own.
template <KvElement E, int N, int C>
inline void round_some_weights(const TileView<N>& view, const Scores<N>& weights, const float* scales, int first,
                               bool sums_of_16, Ahead& lines_ahead, IntWeights<N>& out) {
  constexpr int kLines = lines_by_weights<E>(N, C);
  const int count = view.end - view.begin;
  Ahead ahead = lines_ahead;
  bool sees_all = true;
  F32 top[C], sum[C], factor[C];
#pragma GCC unroll 4
  for (int c = 0; c < C; ++c) {
    sees_all = sees_all && view.lo[first + c] <= view.begin && view.hi[first + c] >= view.end;
    top[c] = sum[c] = f32_zero();
  }
  for (int t = 0; t < count; t += kLanes) {
#pragma GCC unroll 4
    for (int c = 0; c < C; ++c) {
      const F32 product = scaled_weight<N>(view, weights, scales, sees_all, first + c, t);
      top[c] = f32_max(top[c], product);
      if constexpr (kSumBounds<E, kTileTokens>) sum[c] = f32_add(sum[c], product);
    }
    if constexpr (kLines > 0) fetch_lines<E, N, kLines>(ahead);
  }
#pragma GCC unroll 4
  for (int c = 0; c < C; ++c) {
    float products = f32_sum(sum[c]);
    if (kSumBounds<E, kTileTokens> && sums_of_16)
      products =
          sum_of_products(weights[first + c], scales, view.begin, view.end, view.lo[first + c], view.hi[first + c]);
    const float largest = int16_top<E, kTileTokens>(f32_max_of(top[c]), products);
    out.scale[first + c] = largest * (Kv<E>::kUnit / 32767.0F);
    factor[c] = f32_set(largest > 0 ? 32767.0F / largest : 0.0F);
  }
  for (int t = 0; t < count; t += kLanes) {
#pragma GCC unroll 4
    for (int c = 0; c < C; ++c) {
      const F32 product = scaled_weight<N>(view, weights, scales, sees_all, first + c, t);
      i32_store_i16(out.w[first + c] + t, f32_round(f32_mul(product, factor[c])));
    }
    if constexpr (kLines > 0) fetch_lines<E, N, kLines>(ahead);
  }
  lines_ahead = ahead;
}

template <KvElement E, int N>
inline void round_weights(const TileView<N>& view, const Scores<N>& weights, const float* scales, bool pairs,
                          bool sums_of_16, Ahead& ahead, IntWeights<N>& out) {
  int first = 0;
  for (; first + 4 <= N; first += 4) round_some_weights<E, N, 4>(view, weights, scales, first, sums_of_16, ahead, out);
  if constexpr (N % 4 != 0) round_some_weights<E, N, N % 4>(view, weights, scales, first, sums_of_16, ahead, out);
  if (pairs) return;
  for (int i = 0; i < N; ++i)
    for (int t = view.end - view.begin - 1; t >= 0; --t) {
      out.w[i][2 * t] = out.w[i][t];
      out.w[i][2 * t + 1] = 0;
    }
}

/// The number of sums that each query and vector of dimensions has, for pairs of tokens in turn: enough chains to hide
/// the latency of a product.
template <int N, int J>
constexpr int pair_sums_at_once() {
  return N * J >= 8 ? 1 : N * J >= 4 ? 2 : 4;
}

/// Computes J vectors of o from dimension d: integer sums over pairs of tokens.
template <KvElement E, int N, int J, bool Full>
inline void sum_pairs(const KvLayer& kv, const AttentionItem& item, const TileView<N>& view,
                      const IntWeights<N>& weights, Ahead& lines_ahead, int d, int lanes, float* const (&o)[N]) {
  constexpr int kBytes = J * kLanes * 2 * (int)sizeof(typename Kv<E>::Element);
  constexpr int kLines = kBytes >= 64 ? kBytes / 64 : 1, kPairsPerLine = kBytes >= 64 ? 1 : 64 / kBytes;
  const size_t row = 2 * (size_t)kv.v_dim;
  const int pair_shift = kv.block_size > 1 ? 1 : 0;  // the tokens of a pair, as a power of 2
  const int end = view.end < item.end ? view.end : item.end;
  constexpr int kSums = pair_sums_at_once<N, J>();
  I32 sums[kSums][N][J];
  for (int s = 0; s < kSums; ++s)
    for (int i = 0; i < N; ++i)
      for (int j = 0; j < J; ++j) sums[s][i][j] = i32_zero();
  Ahead ahead = lines_ahead;
  const int position = (view.begin > item.begin ? view.begin : item.begin) >> pair_shift << pair_shift;
  const int16_t* w = weights.w[0] + ((position - view.begin) >> pair_shift) * 2;
  int first = position % kv.block_size >> pair_shift;
  for (int block = position / kv.block_size; block * kv.block_size < end; ++block, first = 0) {
    const int left = end - block * kv.block_size;
    const int end_pair = ((left < kv.block_size ? left : kv.block_size) + pair_shift) >> pair_shift;
    const auto* v = kv_head<E>(kv, item.blocks[block], item.kv_head).v + (size_t)first * row + 2 * (size_t)d;
    const auto add = [&](int pair, int s) __attribute__((always_inline)) {
      I16 weight[N];
#pragma GCC unroll 8
      for (int i = 0; i < N; ++i) weight[i] = i16_broadcast2(w + i * 2 * kTileTokens);
#pragma GCC unroll 8
      for (int j = 0; j < J; ++j) {
        const I16 values = Full ? Kv<E>::load_pairs(v + 2 * j * kLanes) : load_pairs_n<E>(v, 2 * lanes);
#pragma GCC unroll 8
        for (int i = 0; i < N; ++i) sums[s][i][j] = dot_pairs(sums[s][i][j], values, weight[i]);
      }
      if (pair % kPairsPerLine == 0 && pair / kPairsPerLine % 4 < kProductLines<E>) fetch_lines<E, N, kLines>(ahead);
      w += 2;
      v += row;
    };
    int pair = first;
    for (; pair + kSums <= end_pair; pair += kSums)
#pragma GCC unroll 4
      for (int s = 0; s < kSums; ++s) add(pair + s, s);
    for (; kSums > 1 && pair < end_pair; ++pair) add(pair, 0);
  }
  for (int s = 1; s < kSums; ++s)
    for (int i = 0; i < N; ++i)
      for (int j = 0; j < J; ++j) sums[0][i][j] = i32_add(sums[0][i][j], sums[s][i][j]);
  lines_ahead = ahead;
  for (int i = 0; i < N; ++i)
    for (int j = 0; j < J; ++j) {
      const F32 value = f32_mul(i32_to_f32(sums[0][i][j]), f32_set(weights.scale[i]));
      if (Full)
        f32_store(o[i] + d + j * kLanes, value);
      else
        f32_store_n(o[i] + d + j * kLanes, value, lanes);
    }
}

/// Computes the dimensions from `begin` to `end` of o, which share scales.
template <KvElement E, int N, int J = value_vectors_at_once<E, N>()>
inline void sum_pairs_of_segment(const KvLayer& kv, const AttentionItem& item, const TileView<N>& view,
                                 const IntWeights<N>& weights, Ahead& ahead, int begin, int end, float* const (&o)[N]) {
  int d = begin;
  for (; d + J * kLanes <= end; d += J * kLanes) sum_pairs<E, N, J, true>(kv, item, view, weights, ahead, d, kLanes, o);
  if constexpr (J > 1) {
    sum_pairs_of_segment<E, N, J / 2>(kv, item, view, weights, ahead, d, end, o);
  } else if (d < end) {
    sum_pairs<E, N, 1, false>(kv, item, view, weights, ahead, d, end - d, o);
  }
}

/// Computes o[i] = the weights of query i times the tile's V.
template <KvElement E, int N>
inline void tile_values(const KvLayer& kv, const AttentionItem& item, const TileView<N>& view, const Scores<N>& weights,
                        Ahead& ahead, float* const (&o)[N], bool sums_of_16) {
  if constexpr (kInPairs<E>) {
    constexpr int kSegment = Kv<E>::kScaleDims;
    for (int d = 0; d < kv.v_dim; d += kSegment) {
      float scales[kTileTokens];
      IntWeights<N> rounded;
      load_v_scales<E, N>(kv, item, view, d / kSegment, scales);
      round_weights<E, N>(view, weights, scales, kv.block_size > 1, sums_of_16, ahead, rounded);
      const int end = d + kSegment < kv.v_dim ? d + kSegment : kv.v_dim;
      sum_pairs_of_segment<E, N>(kv, item, view, rounded, ahead, d, end, o);
    }
  } else {
    sum_dimensions<E, N>(kv, item, view, weights, ahead, 0, kv.v_dim, o);
  }
}

}  // namespace
}  // namespace octavo
