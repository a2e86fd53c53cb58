// Attention of a few queries over the blocks of one KV head: a softmax per tile of fixed positions, merged online
// (Milakov and Gimelshein 2018; Dao et al. 2022). A decode row, the rows of a chunk and rows of several sequences that
// share blocks go through the same code.
//
// A query's result depends on its own positions only. Tiles lie at absolute positions and are merged in their order; a
// tile that a query does not see is no part of its result.
#pragma once

#include "kernels/generic/attention_key_values.inl"

namespace octavo {
namespace {

static_assert(kTileTokens % (8 * kLanes) == 0);

/// Replaces the scores that a query sees by cap tanh(score / cap); in pairs they count in the query's unit. A function
/// of its own, so that the loops of models without a cap keep their registers.
template <KvElement E, int N>
__attribute__((noinline)) void cap_scores(const TileView<N>& view, const Queries<E, N>& q, float cap, Scores<N>& scores,
                                          F32 (&top)[N]) {
  const int count = view.end - view.begin;
  for (int i = 0; i < N; ++i) {
    float unit = 1;
    if constexpr (kInPairs<E>) unit = q.unit[i];
    const F32 most = f32_set(cap / unit), part = f32_set(unit / cap);
    top[i] = f32_set(kNoScore);
    for (int t = 0; t < count; t += kLanes) {
      const F32 score = f32_load(scores[i] + t), capped = f32_mul(most, f32_tanh(f32_mul(score, part)));
      const F32 kept = f32_select(f32_less(f32_set(kNoScore), score), capped, score);  // masked scores stay masked
      top[i] = f32_max(top[i], kept);
      f32_store(scores[i] + t, kept);
    }
  }
}

/// A query's result (state) over some positions: o[v_dim], then the largest score and the sum of weights.
inline float& max_of(float* state, int v_dim) { return state[v_dim]; }
inline float& sum_of(float* state, int v_dim) { return state[v_dim + 1]; }

/// The number of vectors of weights that are made side by side, to hide the latency of one.
inline constexpr int kWeightVectors = kLanes == 8 ? 2 : 8;

/// Turns W vectors of scores into weights. Every second vector adds to the same sum, so that a query's sum has the same
/// bits however many vectors are made at once, and whichever of them other queries see.
template <int W>
inline void weigh(float* scores, F32 scale, F32 offset, F32 (&sums)[2]) {
  F32 weights[W];
#pragma GCC unroll 8
  for (int j = 0; j < W; ++j) weights[j] = f32_exp2_of_negative(f32_fma(f32_load(scores + j * kLanes), scale, offset));
#pragma GCC unroll 8
  for (int j = 0; j < W; ++j) {
    f32_store(scores + j * kLanes, weights[j]);
    sums[j % 2] = f32_add(sums[j % 2], weights[j]);
  }
}

/// The sum of a query's weights of the positions begin .. end, whole vectors: in two sums of 16 lanes, wherever begin
/// is. Apart from weigh(), because its loops have the level's own lanes.
__attribute__((noinline)) float sum_of_weights(const float* weights, int begin, int end) {
  constexpr int kSumLanes = 2 * kWideLanes;
  F32 sums[2][kWideVectors];
  for (auto& of_lanes : sums)
    for (F32& sum : of_lanes) sum = f32_zero();
  for (int first = begin / kSumLanes * kSumLanes; first < end; first += kSumLanes)
    for (int j = 0; j < 2 * kWideVectors; ++j) {
      const int at = first + j * kLanes;
      F32& sum = sums[j / kWideVectors][j % kWideVectors];
      if (begin <= at && at < end) sum = f32_add(sum, f32_load(weights + (at - begin)));
    }
  for (int v = 0; v < kWideVectors; ++v) sums[0][v] = f32_add(sums[0][v], sums[1][v]);
  return sum_of_lanes(sums[0]);
}

/// The lines that are prefetched for each query while its weights are made, so that memory does not rest.
inline constexpr int kWeightLines = 8;

/// Turns scores into weights exp(score - max); scores count in units of the query. Sums across lanes are waited for
/// once, for all queries.
template <KvElement E, int N>
inline void tile_weights(const TileView<N>& view, const Queries<E, N>& q, const F32 (&top)[N], Ahead& lines_ahead,
                         Scores<N>& scores, float* const (&part)[N], int v_dim, bool sums_of_16) {
  float max[N];
  F32 sum[N];
  Ahead ahead = lines_ahead;
  for (int i = 0; i < N; ++i) max[i] = f32_max_of(top[i]);
  const int count = view.end - view.begin;
  for (int i = 0; i < N; ++i) {
    float unit = 1;
    if constexpr (kInPairs<E>) unit = q.unit[i];
    const F32 scale = f32_set(kLog2E * unit), offset = f32_set(-max[i] * (kLog2E * unit));
    max_of(part[i], v_dim) = max[i] * unit;
    F32 sums[2] = {f32_zero(), f32_zero()};
    int t = view.lo[i] == view.hi[i] ? count : 0;
    for (; t + kWeightVectors * kLanes <= count; t += kWeightVectors * kLanes)
      weigh<kWeightVectors>(scores[i] + t, scale, offset, sums);
    for (; t + 2 * kLanes <= count; t += 2 * kLanes) weigh<2>(scores[i] + t, scale, offset, sums);
    if (t < count) weigh<1>(scores[i] + t, scale, offset, sums);
    fetch_lines<E, N, kWeightLines>(ahead);
    sum[i] = f32_add(sums[0], sums[1]);
  }
  lines_ahead = ahead;
  if (kLanes != kWideLanes && sums_of_16) {
    for (int i = 0; i < N; ++i)
      sum_of(part[i], v_dim) = view.lo[i] == view.hi[i] ? 0.0F : sum_of_weights(scores[i], view.begin, view.end);
    return;
  }
  for (int i = 0; i < N; ++i) sum_of(part[i], v_dim) = f32_sum(sum[i]);
}

/// The factor of a result whose largest score is `distance` <= 0 above the largest of all; 0 if a weight would be 0.
inline float merging_weight(float distance) { return distance * kLog2E < kLeastExponent ? 0.0F : exp_of(distance); }

/// Merges what later positions gave into `state`; the first result is taken as it is.
inline void merge_into(float* state, const float* part, int v_dim) {
  const float later = part[v_dim];
  if (later == kNoScore) return;  // the query saw none of these positions
  if (max_of(state, v_dim) == kNoScore) {
    __builtin_memcpy(state, part, (size_t)(v_dim + 2) * sizeof(float));
    return;
  }
  const float earlier = max_of(state, v_dim);
  const float max = later > earlier ? later : earlier;
  const float a = merging_weight(earlier - max), b = merging_weight(later - max);
  const F32 a_all = f32_set(a), b_all = f32_set(b);
  for_vectors(
      v_dim,
      [&](int64_t d) { f32_store(state + d, f32_fma(f32_load(part + d), b_all, f32_mul(f32_load(state + d), a_all))); },
      [&](int64_t d, int n) {
        const F32 scaled = f32_mul(f32_load_n(state + d, n), a_all);
        f32_store_n(state + d, f32_fma(f32_load_n(part + d, n), b_all, scaled), n);
      });
  max_of(state, v_dim) = max;
  sum_of(state, v_dim) = sum_of(state, v_dim) * a + part[v_dim + 1] * b;
}

/// The factor of a state's values: one over the sum of weights, which includes the sink's weight.
inline float factor_with_sink(const float* state, int v_dim, float sink) {
  const float max = state[v_dim], top = sink > max ? sink : max;
  const float weight = merging_weight(max - top);
  return weight / (state[v_dim + 1] * weight + merging_weight(sink - top));
}

/// Writes a query's output. `sink`: the sink of the query's head; null: none. The output is NaN if no score was above
/// -inf: there is no mean of values then, and `state` holds another query's.
inline void write_output(const float* state, int v_dim, const float* sink, float* out) {
  if (state[v_dim] == kNoScore) {
    for (int d = 0; d < v_dim; ++d) out[d] = __builtin_nanf("");
    return;
  }
  const F32 inverse = f32_set(sink == nullptr ? 1.0F / state[v_dim + 1] : factor_with_sink(state, v_dim, *sink));
  for_vectors(
      v_dim, [&](int64_t d) { f32_store(out + d, f32_mul(f32_load(state + d), inverse)); },
      [&](int64_t d, int n) { f32_store_n(out + d, f32_mul(f32_load_n(state + d, n), inverse), n); });
}

/// Finds the positions that the queries see of the tile at `tile`, cut to the item; false if there are none.
template <int N>
inline bool view_tile(const AttentionItem& item, const AttentionQuery* queries, int tile, TileView<N>& view) {
  const int begin = tile > item.begin ? tile : item.begin;
  const int end = tile + kTileTokens < item.end ? tile + kTileTokens : item.end;
  int lowest = end, highest = begin;
  view.shared_begin = begin;
  view.shared_end = end;
  for (int i = 0; i < N; ++i) {
    view.lo[i] = queries[i].begin > begin ? queries[i].begin : begin;
    view.hi[i] = queries[i].end < end ? queries[i].end : end;
    if (view.lo[i] > view.shared_begin) view.shared_begin = view.lo[i];
    if (view.hi[i] < view.shared_end) view.shared_end = view.hi[i];
    if (view.hi[i] <= view.lo[i]) {
      view.lo[i] = view.hi[i] = begin;
      continue;
    }
    if (view.lo[i] < lowest) lowest = view.lo[i];
    if (view.hi[i] > highest) highest = view.hi[i];
  }
  if (view.shared_end < view.shared_begin) view.shared_end = view.shared_begin;
  view.begin = lowest / kLanes * kLanes;
  view.end = (highest + kLanes - 1) / kLanes * kLanes;
  return lowest < highest;
}

/// The places of the results of some queries over one tile.
struct TileParts {
  float* of[kMaxTileQueries];
};

/// The places of a tile's K and V, which are one where V does not lie in K.
struct TileSources {
  const TileSource &k, &v;
};

/// Computes the results of N queries over one tile, at part.of[i].
template <KvElement E, int N>
void attend_tile(const TileSources& from, const AttentionItem& item, const AttentionQuery* queries, int tile,
                 Ahead& ahead, const TileParts& part) {
  const int v_dim = from.v.kv.v_dim;
  float* parts[N];
  for (int i = 0; i < N; ++i) parts[i] = part.of[i];
  TileView<N> view;
  if (!view_tile<N>(item, queries, tile, view)) {
    for (int i = 0; i < N; ++i) max_of(parts[i], v_dim) = kNoScore;
    return;
  }
  view.shift(from.k.first);
  const float* q_of[N];
  for (int i = 0; i < N; ++i) q_of[i] = queries[i].q + (size_t)item.kv_head * (size_t)item.q_stride;
  const bool sums_of_16 = kLanes != kWideLanes && item.sums_of_16;
  const Queries<E, N> q(q_of, from.k.kv.k_dim, sums_of_16);
  Scores<N> scores;
  F32 top[N];
  tile_scores<E, N>(from.k.kv, from.k.at, q, view, ahead, scores, top);
  if (item.terms.soft_cap != 0) cap_scores<E, N>(view, q, item.terms.soft_cap, scores, top);
  tile_weights<E, N>(view, q, top, ahead, scores, parts, v_dim, sums_of_16);
  view.shift(from.v.first - from.k.first);
  tile_values<E, N>(from.v.kv, from.v.at, view, scores, ahead, parts, sums_of_16);
  ahead.fetch_rest();
}

/// The number of queries that go over a tile side by side, out of the `left` queries that have not yet done so: as many
/// as possible, except that
/// - a level may take fewer (kPassQueries);
/// - two passes are as long as each other, so that each has time for its half of what is fetched;
/// - with 16 registers five to seven queries of q8_0 are faster in two passes, and three or four beside eight. Queries
///   of i16, twice as many bytes, rather wait for memory once.
template <KvElement E>
constexpr int queries_of_pass(int left) {
  constexpr int kMost = kMaxTileQueries;
  if (kPassQueries < kFewQueries) return left < kPassQueries ? left : kPassQueries;
  if (left <= kFewQueries) return left;
  if (kSmallPasses<E>) return 3;
  if (kLanes != 8) return left <= kMost ? left : left <= 2 * kMost ? (left + 1) / 2 : kMost;
  if (left < kMost) return E == KvElement::kQ8_0 ? (left + 1) / 2 : left;
  return left > kMost && left < 2 * kMost ? 4 : kMost;
}

template <KvElement E>
constexpr int passes_over_tile(int queries) {
  int passes = 0;
  for (; queries > 0; queries -= queries_of_pass<E>(queries)) ++passes;
  return passes;
}

template <KvElement E>
inline void attend_queries(const TileSources& from, const AttentionItem& item, const AttentionQuery* queries, int count,
                           int tile, Ahead& ahead, const TileParts& part) {
  switch (count) {
    case 1: return attend_tile<E, 1>(from, item, queries, tile, ahead, part);
    case 2: return attend_tile<E, 2>(from, item, queries, tile, ahead, part);
    default: break;
  }
  if constexpr (kPassQueries >= kFewQueries) {
    switch (count) {
      case 3: return attend_tile<E, 3>(from, item, queries, tile, ahead, part);
      case 4: return attend_tile<E, 4>(from, item, queries, tile, ahead, part);
      default: break;
    }
  }
  if constexpr (!kSmallPasses<E> && kPassQueries == kMaxTileQueries) {
    switch (count) {
      case 5: return attend_tile<E, 5>(from, item, queries, tile, ahead, part);
      case 6: return attend_tile<E, 6>(from, item, queries, tile, ahead, part);
      case 7: return attend_tile<E, 7>(from, item, queries, tile, ahead, part);
      default: return attend_tile<E, 8>(from, item, queries, tile, ahead, part);
    }
  }
}

/// The source from which `passes` read the tile at `tile`; a copy is made in `floats` if that pays.
template <KvElement E>
inline TileSource tile_source(const KvLayer& kv, const AttentionItem& item, int tile, int passes, float* floats) {
  if (!copy_pays<E>(kv, passes)) return {kv, item, 0};
  const int v_dim = kv.v_in_k ? 0 : kv.v_dim;
  const TileSource source{copy_layer<kCopyElement<E>>(kv.k_dim, v_dim, floats), item_of_copy(item, tile), tile};
  copy_tile<E>(kv, item, tile, source.kv);
  return source;
}

/// The source of V that lies in K, behind the room for a copy of K.
template <KvElement E>
inline TileSource value_source(const KvLayer& kv, const AttentionItem& item, int tile, const TileSource& keys,
                               float* floats) {
  floats += (size_t)kTileTokens * (size_t)kv.k_dim;
  if (keys.at.blocks == kCopyBlockIds) return copied_values<kCopyElement<E>>(keys, item, kv.v_dim, tile, floats);
  return copied_values<E>(keys, item, kv.v_dim, tile, floats);
}

/// Prefetches floats. Inlined for the same reason as prefetch().
__attribute__((always_inline)) inline void prefetch_floats(const float* floats, size_t count) {
  for (size_t i = 0; i < count; i += 64 / sizeof(float)) prefetch(floats + i);
}

/// Prefetches rows of q, or of the output, that will be needed after the present pass. Rows of one head lie far apart,
/// so no hardware prefetcher brings them. Inlined for the same reason.
template <class Float>
__attribute__((always_inline)) inline void prefetch_rows(const AttentionQuery* queries, int count,
                                                         Float* AttentionQuery::* row, size_t head, int dim) {
  for (int i = 0; i < count; ++i) prefetch_floats(queries[i].*row + head, (size_t)dim);
}

template <KvElement E>
void attention(const KvLayer& kv, const AttentionItem& item, const AttentionAhead& next, float* scratch) {
  const size_t state_floats = (size_t)kv.v_dim + 2;
  float* const states = item.states != nullptr ? item.states : scratch;
  float* const parts = scratch + (size_t)kMaxItemQueries * state_floats;
  float* const copied = parts + (size_t)kMaxTileQueries * state_floats;
  if (item.partial == nullptr && !item.resumes)
    for (int i = 0; i < item.num_queries; ++i) max_of(states + (size_t)i * state_floats, kv.v_dim) = kNoScore;
  float* partial = item.partial;
  const size_t q_head = (size_t)item.kv_head * (size_t)item.q_stride;
  const size_t out_head = (size_t)item.kv_head * (size_t)item.out_stride;
  const int passes = passes_over_tile<E>(item.num_queries);
  for (int tile = item.begin / kTileTokens * kTileTokens; tile < item.end; tile += kTileTokens) {
    const AttentionAhead following = tile + kTileTokens < item.end
                                         ? AttentionAhead{{blocks_of_tile(item, tile + kTileTokens, kv.block_size)}, 1}
                                         : next;
    AheadBlocks blocks_ahead(kv, following);
    const TileSource keys = tile_source<E>(kv, item, tile, passes, copied);
    TileSource values;
    if (kv.v_in_k) values = value_source<E>(kv, item, tile, keys, copied);
    const TileSources from{keys, kv.v_in_k ? values : keys};
    for (int first = 0, count = 0; first < item.num_queries; first += count) {
      const int left = item.num_queries - first;
      count = queries_of_pass<E>(left);
      blocks_ahead.begin_portion(left - count, item.num_queries);
      Ahead ahead(blocks_ahead);
      float* const state = states + (size_t)first * state_floats;
      TileParts part;
      for (int i = 0; i < count; ++i) {
        const size_t at = (size_t)i * state_floats;
        const bool is_first = partial == nullptr && max_of(state + at, kv.v_dim) == kNoScore;
        part.of[i] = partial != nullptr ? partial + (size_t)first * state_floats + at
                     : is_first         ? state + at
                                        : parts + at;
      }
      // Results of earlier tiles have pushed the lines to be written out of the caches.
      if (partial != nullptr) prefetch_floats(part.of[0], (size_t)count * state_floats);
      const AttentionQuery* queries = item.queries + first;
      const int after = queries_of_pass<E>(left - count);
      if (item.partial == nullptr) prefetch_rows(queries + count, after, &AttentionQuery::q, q_head, kv.k_dim);
      if (item.partial == nullptr && tile + kTileTokens >= item.end)
        prefetch_rows(queries, count, &AttentionQuery::out, out_head, kv.v_dim);
      if (keys.at.blocks == kCopyBlockIds)
        attend_queries<kCopyElement<E>>(from, item, queries, count, tile, ahead, part);
      else
        attend_queries<E>(from, item, queries, count, tile, ahead, part);
      if (partial != nullptr) continue;
      for (int i = 0; i < count; ++i)
        if (float* into = state + (size_t)i * state_floats; into != part.of[i]) merge_into(into, part.of[i], kv.v_dim);
    }
    if (partial != nullptr) partial += (size_t)item.num_queries * state_floats;
  }
  if (item.partial != nullptr) return;
  const float* sinks = item.terms.sinks;
  if (sinks != nullptr) sinks += out_head / (size_t)kv.v_dim;
  for (int i = 0; i < item.num_queries; ++i)
    if (const AttentionQuery& query = item.queries[i]; item.begin < query.end && query.end <= item.end)
      write_output(states + (size_t)i * state_floats, kv.v_dim, sinks == nullptr ? nullptr : sinks + query.head,
                   query.out + out_head);
}

/// Computes attention() with sums of 16 lanes.
template <KvElement E>
void attention_of_16(const KvLayer& kv, const AttentionItem& item, const AttentionAhead& next, float* scratch) {
  AttentionItem wide = item;
  wide.sums_of_16 = true;
  attention<E>(kv, wide, next, scratch);
}

// A query's results of different tiles lie so far apart that no hardware prefetcher brings them. After each lies the
// result of the query that is merged next, by this call or mostly by the following one; after the last one a prefetch
// of anything does no harm.
void merge_tiles(const TileMerge& merge) {
  const size_t state_floats = (size_t)merge.v_dim + 2;
  for (int i = 0; i < merge.num_queries; ++i) {
    float* const state = merge.states + (size_t)i * state_floats;
    const float* part = merge.partials + (size_t)i * state_floats;
    if (merge.first) max_of(state, merge.v_dim) = kNoScore;
    for (int tile = 0; tile < merge.num_tiles; ++tile, part += merge.stride) {
      prefetch_floats(part + state_floats, state_floats);
      merge_into(state, part, merge.v_dim);
    }
    if (merge.queries == nullptr) continue;
    const AttentionQuery& query = merge.queries[i];
    const float* sink = merge.sinks == nullptr ? nullptr : merge.sinks + query.head;
    write_output(state, merge.v_dim, sink, query.out + merge.head);
  }
}

}  // namespace
}  // namespace octavo
