// Attention of a few queries over the blocks of one KV head: online softmax (Milakov and Gimelshein 2018; Dao et
// al. 2022) in tiles of fixed positions. A decode row and the rows of a chunk go through the same body.
//
// What a query's result is depends on its own positions only: tiles and splits lie at absolute positions, a tile
// that a query does not see leaves its state untouched, and within a tile its values are summed by ascending position.
#pragma once

#include "kernels/generic/elementwise.inl"
#include "kernels/generic/kv_elements.inl"

namespace octavo {
namespace {

inline constexpr int kTileTokens = 128;  // the softmax is rescaled once a tile
inline constexpr float kNoScore = -__builtin_inff();

static_assert(kSplitTokens % kTileTokens == 0 && kTileTokens % kLanes == 0);

/// State of N queries over the positions seen so far: sum of weights times V, largest score, sum of weights.
template <int N>
struct Softmax {
  float o[N][kMaxHeadDim];
  float max[N];
  float sum[N];
};

/// What a tile of N queries sees of the positions begin .. end.
template <int N>
struct TileView {
  int begin, end;
  int lo[N], hi[N];  // positions query i sees within the tile; lo == hi: none
};

inline float scale_of(const uint16_t* half) {
  float lanes[kLanes];
  f32_store(lanes, f32_load_f16_n(half, 1));
  return lanes[0];
}

/// s[i] = the sum over d of q[i][d] * k[d] for kLanes tokens, d ascending. With scales (q8_0) each run of kKvScaleDims
/// dimensions is summed before its scale is applied.
template <KvElement E, int N, class LoadK, class LoadScale>
inline void score_vector(const float* const (&q)[N], int head_dim, LoadK load_k, LoadScale load_scale, F32 (&s)[N]) {
  for (int i = 0; i < N; ++i) s[i] = f32_zero();
  if constexpr (E == KvElement::kQ8_0) {
    for (int begin = 0; begin < head_dim; begin += kKvScaleDims) {
      F32 part[N];
      for (int i = 0; i < N; ++i) part[i] = f32_zero();
      const int end = begin + kKvScaleDims < head_dim ? begin + kKvScaleDims : head_dim;
      for (int d = begin; d < end; ++d) {
        const F32 k = load_k(d);
        for (int i = 0; i < N; ++i) part[i] = f32_fma(f32_set(q[i][d]), k, part[i]);
      }
      const F32 scale = load_scale(begin / kKvScaleDims);
      for (int i = 0; i < N; ++i) s[i] = f32_fma(part[i], scale, s[i]);
    }
  } else {
    for (int d = 0; d < head_dim; ++d) {
      const F32 k = load_k(d);
      for (int i = 0; i < N; ++i) s[i] = f32_fma(f32_set(q[i][d]), k, s[i]);
    }
  }
}

/// Scores of kLanes tokens that lie in one block.
template <KvElement E, int N>
inline void scores_in_block(const KvLayer& kv, const AttentionItem& item, const float* const (&q)[N], int position,
                            F32 (&s)[N]) {
  const size_t bs = (size_t)kv.block_size, token = (size_t)position % bs;
  const auto at = kv_head<E>(kv, item.blocks[position / kv.block_size], item.kv_head);
  score_vector<E, N>(
      q, kv.head_dim, [&](int d) { return Kv<E>::load(at.k + (size_t)d * bs + token); },
      [&](int g) { return f32_load_f16(at.k_scale + (size_t)g * bs + token); }, s);
}

/// K of one token, element by element, into lane `lane` of k[d].
template <KvElement E>
inline void gather_k(const KvLayer& kv, const typename Kv<E>::Element* head, int token, int lane, float (*k)[kLanes]) {
  float values[kLanes];
  if (kv.k_order == KOrder::kTokenMajor) {
    const auto* row = head + (size_t)token * (size_t)kv.head_dim;
    for (int d = 0; d < kv.head_dim; d += kLanes) {
      const int count = kv.head_dim - d < kLanes ? kv.head_dim - d : kLanes;
      f32_store(values, count == kLanes ? Kv<E>::load(row + d) : Kv<E>::load_n(row + d, count));
      for (int i = 0; i < count; ++i) k[d + i][lane] = values[i];
    }
    return;
  }
  for (int d = 0; d < kv.head_dim; ++d) {
    f32_store(values, Kv<E>::load_n(head + (size_t)d * (size_t)kv.block_size + token, 1));
    k[d][lane] = values[0];
  }
}

/// Scores of kLanes tokens whose K is not one vector a dimension, because a block is shorter than that or K lies token
/// by token: gathered first. Tokens beyond the sequence's last block read as zero; the caller masks them.
template <KvElement E, int N>
__attribute__((noinline)) void scores_gathered(const KvLayer& kv, const AttentionItem& item, const float* const (&q)[N],
                                               int position, F32 (&s)[N]) {
  float k[kMaxHeadDim][kLanes], scales[kMaxHeadDim / kKvScaleDims][kLanes];
  __builtin_memset(k, 0, sizeof(float) * (size_t)kv.head_dim * kLanes);
  __builtin_memset(scales, 0, sizeof(scales));
  for (int lane = 0; lane < kLanes; ++lane) {
    const int block = (position + lane) / kv.block_size, token = (position + lane) % kv.block_size;
    if (block >= item.num_blocks) break;
    const auto at = kv_head<E>(kv, item.blocks[block], item.kv_head);
    gather_k<E>(kv, at.k, token, lane, k);
    if constexpr (E == KvElement::kQ8_0) {
      for (int g = 0; g < scale_groups_of(kv.head_dim); ++g)
        scales[g][lane] = scale_of(at.k_scale + (size_t)g * (size_t)kv.block_size + token);
    }
  }
  score_vector<E, N>(
      q, kv.head_dim, [&](int d) { return f32_load(k[d]); }, [&](int g) { return f32_load(scales[g]); }, s);
}

template <int N>
using Scores = float[N][kTileTokens];

/// Scores of a tile, masked to what each query sees; top[i] is the largest.
template <KvElement E, int N>
inline void tile_scores(const KvLayer& kv, const AttentionItem& item, const float* const (&q)[N],
                        const TileView<N>& view, Scores<N>& scores, F32 (&top)[N]) {
  const F32 none = f32_set(kNoScore);
  for (int i = 0; i < N; ++i) top[i] = none;
  for (int position = view.begin; position < view.end; position += kLanes) {
    F32 s[N];
    if (kv.k_order == KOrder::kDimMajor && kv.block_size >= kLanes) {
      scores_in_block<E, N>(kv, item, q, position, s);
    } else {
      scores_gathered<E, N>(kv, item, q, position, s);
    }
    for (int i = 0; i < N; ++i) {
      const F32 seen = f32_select(lanes_between(view.lo[i] - position, view.hi[i] - position), s[i], none);
      top[i] = f32_max(top[i], seen);
      f32_store(scores[i] + (position - view.begin), seen);
    }
  }
}

/// Scores become weights exp(score - max); gives what each query's earlier sums are to be multiplied by.
template <int N>
inline void tile_weights(const TileView<N>& view, const F32 (&top)[N], Scores<N>& scores, Softmax<N>& state,
                         float (&correction)[N]) {
  for (int i = 0; i < N; ++i) {
    correction[i] = 1.0F;
    if (view.lo[i] == view.hi[i]) continue;
    const float tile_max = f32_max_of(top[i]);
    const float max = tile_max > state.max[i] ? tile_max : state.max[i];
    correction[i] = exp_of(state.max[i] - max);
    state.max[i] = max;
    F32 total = f32_zero();
    for (int t = 0; t < view.end - view.begin; t += kLanes) {
      const F32 weight = f32_exp(f32_sub(f32_load(scores[i] + t), f32_set(max)));
      f32_store(scores[i] + t, weight);
      total = f32_add(total, weight);
    }
    state.sum[i] = state.sum[i] * correction[i] + f32_sum(total);
  }
}

/// D vectors of V from dimension d of the token at `position`; `count` lanes are read of the last.
template <KvElement E, int D>
inline void load_v(const KvLayer& kv, const AttentionItem& item, int position, int d, int count, F32 (&v)[D]) {
  const int token = position % kv.block_size;
  const auto at = kv_head<E>(kv, item.blocks[position / kv.block_size], item.kv_head);
  const auto* row = at.v + (size_t)token * (size_t)kv.head_dim + d;
  for (int j = 0; j < D; ++j) {
    v[j] = count == kLanes ? Kv<E>::load(row + j * kLanes) : Kv<E>::load_n(row + j * kLanes, count);
    if constexpr (E == KvElement::kQ8_0) {
      const int group = (d + j * kLanes) / kKvScaleDims;
      v[j] = f32_mul(v[j], f32_set(scale_of(at.v_scale + token * scale_groups_of(kv.head_dim) + group)));
    }
  }
}

/// o = o * correction + weights times V, for D vectors of dimensions from d.
template <KvElement E, int N, int D>
inline void add_values(const KvLayer& kv, const AttentionItem& item, const TileView<N>& view, const Scores<N>& weights,
                       const float (&correction)[N], int d, int count, Softmax<N>& state) {
  F32 acc[N][D], v[D];
  for (int i = 0; i < N; ++i)
    for (int j = 0; j < D; ++j) acc[i][j] = f32_mul(f32_load(state.o[i] + d + j * kLanes), f32_set(correction[i]));
  // Positions that all queries see share their loads; each query's others come before and after, in order.
  int shared_begin = view.begin, shared_end = view.end;
  for (int i = 0; i < N; ++i) {
    if (view.lo[i] > shared_begin) shared_begin = view.lo[i];
    if (view.hi[i] < shared_end) shared_end = view.hi[i];
  }
  if (shared_end < shared_begin) shared_end = shared_begin;
  const auto add_alone = [&](int i, int begin, int end) {
    for (int t = begin; t < end; ++t) {
      load_v<E, D>(kv, item, t, d, count, v);
      const F32 w = f32_set(weights[i][t - view.begin]);
      for (int j = 0; j < D; ++j) acc[i][j] = f32_fma(w, v[j], acc[i][j]);
    }
  };
  for (int i = 0; i < N; ++i) add_alone(i, view.lo[i], view.hi[i] < shared_begin ? view.hi[i] : shared_begin);
  for (int t = shared_begin; t < shared_end; ++t) {
    load_v<E, D>(kv, item, t, d, count, v);
    for (int i = 0; i < N; ++i) {
      const F32 w = f32_set(weights[i][t - view.begin]);
      for (int j = 0; j < D; ++j) acc[i][j] = f32_fma(w, v[j], acc[i][j]);
    }
  }
  for (int i = 0; i < N; ++i) add_alone(i, view.lo[i] > shared_end ? view.lo[i] : shared_end, view.hi[i]);
  for (int i = 0; i < N; ++i)
    for (int j = 0; j < D; ++j) f32_store(state.o[i] + d + j * kLanes, acc[i][j]);
}

template <KvElement E, int N>
inline void attend_tile(const KvLayer& kv, const AttentionItem& item, const float* const (&q)[N],
                        const TileView<N>& view, Softmax<N>& state) {
  Scores<N> scores;
  F32 top[N];
  float correction[N];
  tile_scores<E, N>(kv, item, q, view, scores, top);
  tile_weights<N>(view, top, scores, state, correction);
  constexpr int kVectors = N <= 2 ? 4 : N <= 4 ? 2 : 1;  // so many sums hide the latency of multiply-add
  int d = 0;
  for (; d + kVectors * kLanes <= kv.head_dim; d += kVectors * kLanes)
    add_values<E, N, kVectors>(kv, item, view, scores, correction, d, kLanes, state);
  for (; d < kv.head_dim; d += kLanes) {
    const int left = kv.head_dim - d;
    add_values<E, N, 1>(kv, item, view, scores, correction, d, left < kLanes ? left : kLanes, state);
  }
}

template <int N>
inline void clear(Softmax<N>& state, int head_dim) {
  for (int i = 0; i < N; ++i) {
    for (int d = 0; d < head_dim; d += kLanes) f32_store(state.o[i] + d, f32_zero());
    state.max[i] = kNoScore;
    state.sum[i] = 0;
  }
}

/// Query i of `into` takes in what later positions gave: o, max and sum.
template <int N>
inline void merge_into(Softmax<N>& into, int i, const float* o, float max, float sum, int head_dim) {
  if (max == kNoScore) return;  // the query saw none of those positions
  const float top = max > into.max[i] ? max : into.max[i];
  const float a = exp_of(into.max[i] - top), b = exp_of(max - top);
  for_vectors(
      head_dim,
      [&](int64_t d) {
        const F32 scaled = f32_mul(f32_load(into.o[i] + d), f32_set(a));
        f32_store(into.o[i] + d, f32_fma(f32_load(o + d), f32_set(b), scaled));
      },
      [&](int64_t d, int count) {
        const F32 scaled = f32_mul(f32_load_n(into.o[i] + d, count), f32_set(a));
        f32_store_n(into.o[i] + d, f32_fma(f32_load_n(o + d, count), f32_set(b), scaled), count);
      });
  into.max[i] = top;
  into.sum[i] = into.sum[i] * a + sum * b;
}

inline size_t query_offset(const AttentionItem& item, int i, int head_dim) {
  const int query = item.first_query + i;
  const int head = item.kv_head * item.group + query % item.group;
  return ((size_t)(query / item.group) * (size_t)item.num_heads + (size_t)head) * (size_t)head_dim;
}

template <int N>
inline void write_outputs(const AttentionItem& item, const Softmax<N>& state, int head_dim) {
  for (int i = 0; i < N; ++i) {
    float* out = item.out + query_offset(item, i, head_dim);
    const F32 inverse = f32_set(1.0F / state.sum[i]);
    for_vectors(
        head_dim, [&](int64_t d) { f32_store(out + d, f32_mul(f32_load(state.o[i] + d), inverse)); },
        [&](int64_t d, int count) {
          f32_store_n(out + d, f32_mul(f32_load_n(state.o[i] + d, count), inverse), count);
        });
  }
}

template <int N>
inline void write_partial(const Softmax<N>& state, int head_dim, float* out) {
  for (int i = 0; i < N; ++i, out += head_dim + 2) {
    __builtin_memcpy(out, state.o[i], (size_t)head_dim * sizeof(float));
    out[head_dim] = state.max[i];
    out[head_dim + 1] = state.sum[i];
  }
}

/// What the queries see of [begin, end); false if nothing. The view shrinks to whole vectors around it.
template <int N>
inline bool view_tile(const AttentionItem& item, int begin, int end, TileView<N>& view) {
  int lowest = end, highest = begin;
  for (int i = 0; i < N; ++i) {
    const int position = item.first_position + (item.first_query + i) / item.group;
    const int first = item.window > 0 && position >= item.window ? position - item.window + 1 : 0;
    view.lo[i] = first > begin ? first : begin;
    view.hi[i] = position + 1 < end ? position + 1 : end;
    if (view.hi[i] <= view.lo[i]) {
      view.lo[i] = view.hi[i] = begin;
      continue;
    }
    if (view.lo[i] < lowest) lowest = view.lo[i];
    if (view.hi[i] > highest) highest = view.hi[i];
  }
  if (lowest >= highest) return false;
  view.begin = lowest / kLanes * kLanes;
  view.end = (highest + kLanes - 1) / kLanes * kLanes;
  for (int i = 0; i < N; ++i)
    if (view.lo[i] == view.hi[i]) view.lo[i] = view.hi[i] = view.begin;
  return true;
}

template <KvElement E, int N>
void attend(const KvLayer& kv, const AttentionItem& item) {
  const float* q[N];
  for (int i = 0; i < N; ++i) q[i] = item.q + query_offset(item, i, kv.head_dim);
  Softmax<N> part, whole;
  clear(whole, kv.head_dim);
  for (int split = item.split_begin; split < item.split_end; ++split) {
    clear(part, kv.head_dim);
    for (int begin = split * kSplitTokens; begin < (split + 1) * kSplitTokens; begin += kTileTokens) {
      TileView<N> view;
      if (view_tile<N>(item, begin, begin + kTileTokens, view)) attend_tile<E, N>(kv, item, q, view, part);
    }
    if (item.partial != nullptr) {
      const size_t split_floats = (size_t)N * (size_t)(kv.head_dim + 2);
      write_partial<N>(part, kv.head_dim, item.partial + (size_t)(split - item.split_begin) * split_floats);
    } else {
      for (int i = 0; i < N; ++i) merge_into<N>(whole, i, part.o[i], part.max[i], part.sum[i], kv.head_dim);
    }
  }
  if (item.partial == nullptr) write_outputs<N>(item, whole, kv.head_dim);
}

template <KvElement E>
void attention(const KvLayer& kv, const AttentionItem& item) {
  switch (item.num_queries) {
    case 1: return attend<E, 1>(kv, item);
    case 2: return attend<E, 2>(kv, item);
    case 3: return attend<E, 3>(kv, item);
    case 4: return attend<E, 4>(kv, item);
    case 5: return attend<E, 5>(kv, item);
    case 6: return attend<E, 6>(kv, item);
    case 7: return attend<E, 7>(kv, item);
    default: return attend<E, 8>(kv, item);
  }
}

void merge_splits(const AttentionItem& item, int head_dim, int num_splits) {
  for (int i = 0; i < item.num_queries; ++i) {
    Softmax<1> whole;
    clear(whole, head_dim);
    for (int split = 0; split < num_splits; ++split) {
      const float* part = item.partial + (size_t)(split * item.num_queries + i) * (size_t)(head_dim + 2);
      merge_into<1>(whole, 0, part, part[head_dim], part[head_dim + 1], head_dim);
    }
    AttentionItem one = item;
    one.first_query += i;
    one.num_queries = 1;
    write_outputs<1>(one, whole, head_dim);
  }
}

}  // namespace
}  // namespace octavo
