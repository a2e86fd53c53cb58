// Attention of a few queries over the blocks of one KV head: one softmax for each tile of 256 positions, merged in the
// order of the tiles, with the bits of the processor's kernels (kernels/generic/attention.inl).
//
// A block of threads has up to kMaxCardQueries queries: query heads of one KV head, in consecutive rows of a sequence.
// Each thread has one position while scores are computed, and one dimension while values are added up. Scores and
// values of i16 are sums of integers, exact in any order; those of f16 are chains of additions in the order of
// dimensions and positions.
#pragma once

#include "gpu/kernels/kv_layer.h"

namespace octavo::gpu {

/// The range of positions that a row sees.
struct Sight {
  int begin, end;
};
OCTAVO_GPU_DEVICE Sight sight_of(const AttentionArguments& a, int row) {
  const int end = a.positions[a.batch_row != nullptr ? a.batch_row[row] : row] + 1;
  return {a.window > 0 && end > a.window ? end - a.window : 0, end};
}

/// One query: a head of a row.
struct CardQuery {
  int row, head;  // `head`: among the query heads of the KV head
};
OCTAVO_GPU_DEVICE CardQuery query_of(const AttentionEntry& e, int i) {
  return {e.first_row + i / e.num_heads, e.first_head + i % e.num_heads};
}
OCTAVO_GPU_DEVICE int64_t head_of(const AttentionArguments& a, const CardQuery& q) {
  const int kv_head = simt::block_y();
  return ((int64_t)q.row * a.kv.num_kv_heads + kv_head) * a.heads_of_kv + q.head;
}

// The arrays that follow an AttentionMemory.
template <int N>
OCTAVO_GPU_DEVICE float* q_of(AttentionMemory<N>& m) {
  return (float*)(&m + 1);
}
template <int N>
OCTAVO_GPU_DEVICE int16_t* rounded_q_of(AttentionMemory<N>& m) {
  return (int16_t*)(&m + 1);
}
template <int N>
OCTAVO_GPU_DEVICE float* part_of(AttentionMemory<N>& m, int head_dim, int i) {
  return q_of(m) + N * head_dim + i * (head_dim + 2);
}
template <int N>
OCTAVO_GPU_DEVICE float* state_of(AttentionMemory<N>& m, int head_dim, int i) {
  return part_of(m, head_dim, N + i);
}

/// The value that rounding maps to the largest int16. `top` is the largest magnitude of the values, `sum` the sum of
/// the magnitudes: a sum of products with integers up to kI16Top then stays below 2^31.
template <int Count>
OCTAVO_GPU_DEVICE float int16_top(float top, float sum) {
  constexpr float kSumTop = (float)((1U << 31) / kI16Top) - (float)Count;
  const float by_sum = simt::mul(sum, 32767.0F / kSumTop);
  return top > by_sum ? top : by_sum;
}

/// int16_top() of values[0 .. n), by a warp.
OCTAVO_GPU_DEVICE float int16_top_of_segment(const float* values, int n, int lanes, int lane) {
  float top = 0.0F, sum = 0.0F;
  for (int d = lane; d < n; d += 32) top = f32_max(f32_abs(values[d]), top);
  for (int d = lane % lanes; d < n; d += lanes) sum = simt::add(sum, f32_abs(values[d]));
  return int16_top<kI16ScaleDims>(largest_of_warp(top), sum_of_lanes(sum, lanes));
}

/// Loads queries into shared memory, a warp for each; for i16 rounds them to int16, with one factor for each query.
template <CardKvType T, int N>
OCTAVO_GPU_DEVICE void load_queries(const AttentionArguments& a, const AttentionEntry& e, AttentionMemory<N>& m) {
  const int lane = simt::thread() % 32, i = simt::thread() / 32, dim = a.kv.head_dim, count = e.num_rows * e.num_heads;
  if (i < N) {
    const float* q = a.q + head_of(a, query_of(e, i < count ? i : 0)) * dim;
    if (T == CardKvType::kF16) {
      for (int d = lane; d < dim; d += 32) q_of(m)[i * dim + d] = q[d];
      m.unit[i] = 1.0F;
    } else {
      float top = 0.0F;
      for (int d = 0; d < dim; d += kI16ScaleDims) {
        const int n = dim - d < kI16ScaleDims ? dim - d : kI16ScaleDims;
        const float of_segment = int16_top_of_segment(q + d, n, a.lanes, lane);
        top = of_segment > top ? of_segment : top;
      }
      const float all = top > 0.0F ? simt::div(32767.0F, top) : 0.0F;
      for (int d = lane; d < dim; d += 32) rounded_q_of(m)[i * dim + d] = (int16_t)simt::to_int(simt::mul(q[d], all));
      m.unit[i] = top > 0.0F ? simt::mul(top, 1.0F / (float)kI16One / 32767.0F) : 1.0F;
    }
    m.is_first[i] = true;
  }
  simt::sync_block();
}

/// Finds the positions of a tile that each query sees; false if none sees anything.
template <int N>
OCTAVO_GPU_DEVICE bool view_tile(const AttentionArguments& a, const AttentionEntry& e, int tile,
                                 AttentionMemory<N>& m) {
  int begin = kTileTokens, end = 0;
  OCTAVO_GPU_UNROLL
  for (int i = 0; i < N; ++i) {
    Sight sight = {0, 0};
    if (i < e.num_rows * e.num_heads) sight = sight_of(a, query_of(e, i).row);
    int lo = sight.begin > tile ? sight.begin - tile : 0;
    int hi = sight.end < tile + kTileTokens ? sight.end - tile : kTileTokens;
    if (lo >= hi) lo = hi = 0;
    if (lo < hi && lo < begin) begin = lo;
    if (hi > end) end = hi;
    if (simt::thread() == 0) m.lo[i] = lo, m.hi[i] = hi;
  }
  if (simt::thread() == 0) m.begin = begin, m.end = end;
  simt::sync_block();
  return end > 0;
}

/// Calls visit(head, token, k) for positions k from begin to end of a tile: it is token `token` of `head`.
template <class Visit>
OCTAVO_GPU_DEVICE void for_positions(const CardKvLayer& kv, const int32_t* blocks, int tile, int begin, int end,
                                     const Visit& visit) {
  for (int k = begin; k < end;) {
    const CardKvHead head = kv_head(kv, blocks[(tile + k) / kv.block_size], simt::block_y());
    int token = (tile + k) % kv.block_size;
    for (; k < end && token < kv.block_size; ++k, ++token) visit(head, token, k);
  }
}

/// s[i] = q of query i times K of one position.
template <int N>
OCTAVO_GPU_DEVICE void scores_of_i16(const CardKvLayer& kv, const CardKvHead& at, int token, AttentionMemory<N>& m,
                                     float (&s)[N]) {
  const int dim = kv.head_dim;
  OCTAVO_GPU_UNROLL
  for (int i = 0; i < N; ++i) s[i] = 0.0F;
  for (int begin = 0, g = 0; begin < dim; begin += kI16ScaleDims, ++g) {
    int sum[N];
    OCTAVO_GPU_UNROLL
    for (int i = 0; i < N; ++i) sum[i] = 0;
    const int end = dim - begin < kI16ScaleDims ? dim : begin + kI16ScaleDims;
    for (int d = begin; d < end; ++d) {
      const int k = (int16_t)at.k[k_place<CardKvType::kI16>(kv, token, d)];
      OCTAVO_GPU_UNROLL
      for (int i = 0; i < N; ++i) sum[i] += k * rounded_q_of(m)[i * dim + d];
    }
    const float scale = simt::half_to_float(at.k_scale[g * kv.block_size + token]);
    OCTAVO_GPU_UNROLL
    for (int i = 0; i < N; ++i) s[i] = simt::fma(simt::to_float(sum[i]), scale, s[i]);
  }
}
template <int N>
OCTAVO_GPU_DEVICE void scores_of_f16(const CardKvLayer& kv, const CardKvHead& at, int token, AttentionMemory<N>& m,
                                     float (&s)[N]) {
  const int dim = kv.head_dim;
  OCTAVO_GPU_UNROLL
  for (int i = 0; i < N; ++i) s[i] = 0.0F;
  for (int d = 0; d < dim; ++d) {
    const float k = simt::half_to_float(at.k[k_place<CardKvType::kF16>(kv, token, d)]);
    OCTAVO_GPU_UNROLL
    for (int i = 0; i < N; ++i) s[i] = simt::fma(q_of(m)[i * dim + d], k, s[i]);
  }
}

/// Computes the scores of the thread's position, and the largest score of each query and warp.
template <CardKvType T, int N>
OCTAVO_GPU_DEVICE void tile_scores(const AttentionArguments& a, const int32_t* blocks, int tile,
                                   AttentionMemory<N>& m) {
  const int token = simt::thread(), position = tile + token;
  float s[N] = {};
  if (m.begin <= token && token < m.end) {
    const CardKvHead at = kv_head(a.kv, blocks[position / a.kv.block_size], simt::block_y());
    if (T == CardKvType::kF16) {
      scores_of_f16<N>(a.kv, at, position % a.kv.block_size, m, s);
    } else {
      scores_of_i16<N>(a.kv, at, position % a.kv.block_size, m, s);
    }
  }
  OCTAVO_GPU_UNROLL
  for (int i = 0; i < N; ++i) {
    const bool sees = m.lo[i] <= token && token < m.hi[i];
    float score = sees ? s[i] : minus_infinity();
    if (sees && a.soft_cap != 0.0F && minus_infinity() < score)
      score = simt::mul(simt::div(a.soft_cap, m.unit[i]), f32_tanh(simt::mul(score, simt::div(m.unit[i], a.soft_cap))));
    m.scores[i][token] = score;
    const float top = largest_of_warp(score);
    if (token % 32 == 0) m.top[i][token / 32] = top;
  }
  simt::sync_block();
}

/// Turns scores into weights, and writes the largest score and the sum of weights behind the tile's results. The sum is
/// made of two parts of `lanes` lanes each, by position.
template <int N>
OCTAVO_GPU_DEVICE void tile_weights(const AttentionArguments& a, AttentionMemory<N>& m) {
  const int t = simt::thread(), dim = a.kv.head_dim;
  float max[N];
  OCTAVO_GPU_UNROLL
  for (int i = 0; i < N; ++i) {
    max[i] = m.top[i][0];
    for (int w = 1; w < 8; ++w) max[i] = f32_max(m.top[i][w], max[i]);
    const float scale = simt::mul(kLog2E, m.unit[i]), offset = simt::mul(-max[i], scale);
    m.scores[i][t] = f32_exp2_of_negative(simt::fma(m.scores[i][t], scale, offset));
  }
  simt::sync_block();
  const int i = t / 32, lane = t % 32;
  if (i >= N) return;
  float sum = 0.0F;
  for (int k = lane % (2 * a.lanes); k < kTileTokens; k += 2 * a.lanes) sum = simt::add(sum, m.scores[i][k]);
  sum = simt::add(sum, simt::shuffle_xor(sum, a.lanes));
  sum = sum_of_lanes(sum, a.lanes);
  if (lane != 0) return;
  float* const part = part_of(m, dim, i);
  float top = m.top[i][0];
  for (int w = 1; w < 8; ++w) top = f32_max(m.top[i][w], top);
  part[dim] = m.lo[i] == m.hi[i] ? minus_infinity() : simt::mul(top, m.unit[i]);
  part[dim + 1] = sum;
}

/// Rounds the weights of each query, times the scales of a segment of V, to int16; one warp for each query. A position
/// that the query does not see has weight 0, whatever its memory holds.
template <int N>
OCTAVO_GPU_DEVICE void round_weights(const AttentionArguments& a, const int32_t* blocks, int tile, int segment,
                                     AttentionMemory<N>& m) {
  const int i = simt::thread() / 32, lane = simt::thread() % 32, bs = a.kv.block_size;
  if (i >= N) return;
  const auto product = [&](int token) {
    if (token < m.lo[i] || token >= m.hi[i]) return 0.0F;
    const CardKvHead at = kv_head(a.kv, blocks[(tile + token) / bs], simt::block_y());
    const float scale = simt::half_to_float(at.v_scale[segment * bs + (tile + token) % bs]);
    return simt::mul(m.scores[i][token], scale);
  };
  float top = 0.0F, sum = 0.0F;
  for (int k = lane; k < kTileTokens; k += 32) top = f32_max(product(k), top);
  for (int k = lane % a.lanes; k < kTileTokens; k += a.lanes) sum = simt::add(sum, product(k));
  const float largest = int16_top<kTileTokens>(largest_of_warp(top), sum_of_lanes(sum, a.lanes));
  const float factor = largest > 0.0F ? simt::div(32767.0F, largest) : 0.0F;
  for (int k = lane; k < kTileTokens; k += 32) m.rounded[i][k] = (int16_t)simt::to_int(simt::mul(product(k), factor));
  if (lane == 0) m.scale[i] = simt::mul(largest, 1.0F / (float)kI16One / 32767.0F);
}

/// Adds rounded weights times V of one segment. Each thread has one dimension and a quarter of the positions.
template <int N>
OCTAVO_GPU_DEVICE void add_segment(const AttentionArguments& a, const int32_t* blocks, int tile, int segment,
                                   AttentionMemory<N>& m) {
  const int dim = a.kv.head_dim, of_segment = simt::thread() % kI16ScaleDims;
  const int d = segment * kI16ScaleDims + of_segment, quarter = simt::thread() / kI16ScaleDims;
  int sum[N];
  OCTAVO_GPU_UNROLL
  for (int i = 0; i < N; ++i) sum[i] = 0;
  const int first = quarter * (kTileTokens / 4), behind = first + kTileTokens / 4;
  if (d < dim) {
    for_positions(a.kv, blocks, tile, first > m.begin ? first : m.begin, behind < m.end ? behind : m.end,
                  [&](const CardKvHead& head, int token, int k) {
                    const int v = (int16_t)head.v[v_place<CardKvType::kI16>(a.kv, token, d)];
                    OCTAVO_GPU_UNROLL
                    for (int i = 0; i < N; ++i) sum[i] += v * m.rounded[i][k];
                  });
  }
  OCTAVO_GPU_UNROLL
  for (int i = 0; i < N; ++i) m.sums[quarter][i][of_segment] = sum[i];
  simt::sync_block();
  if (quarter == 0 && d < dim) {
    OCTAVO_GPU_UNROLL
    for (int i = 0; i < N; ++i) {
      const int all =
          m.sums[0][i][of_segment] + m.sums[1][i][of_segment] + m.sums[2][i][of_segment] + m.sums[3][i][of_segment];
      part_of(m, dim, i)[d] = simt::mul(simt::to_float(all), m.scale[i]);
    }
  }
}

/// Computes the tile's weights times V.
template <CardKvType T, int N>
OCTAVO_GPU_DEVICE void tile_values(const AttentionArguments& a, const int32_t* blocks, int tile,
                                   AttentionMemory<N>& m) {
  const int dim = a.kv.head_dim;
  if (T == CardKvType::kI16) {
    for (int segment = 0; segment < segments_of(dim); ++segment) {
      round_weights<N>(a, blocks, tile, segment, m);
      simt::sync_block();
      add_segment<N>(a, blocks, tile, segment, m);
      simt::sync_block();
    }
    return;
  }
  for (int at = simt::thread(); at < N * dim; at += kAttentionThreads) {
    const int i = at / dim, d = at % dim;
    float sum = 0.0F;
    for_positions(a.kv, blocks, tile, m.lo[i], m.hi[i], [&](const CardKvHead& head, int token, int k) {
      const float v = simt::half_to_float(head.v[v_place<CardKvType::kF16>(a.kv, token, d)]);
      sum = simt::fma(m.scores[i][k], v, sum);
    });
    part_of(m, dim, i)[d] = sum;
  }
  simt::sync_block();
}

/// The factor of a result whose largest score differs by `distance` <= 0 from the largest; 0 if it underflows.
OCTAVO_GPU_DEVICE float merging_weight(float distance) {
  return simt::mul(distance, kLog2E) < kLeastExponent ? 0.0F : f32_exp(distance);
}

/// The largest score and the sum of weights of some positions.
struct Softmax {
  float max, sum;
};
/// The softmax of earlier and later positions together, and the factors of both results. The first result is taken as
/// it is.
struct Merge {
  Softmax all;
  float earlier, later;
  bool is_first, is_empty;  // nothing is earlier; the later part has no positions

  OCTAVO_GPU_DEVICE float of(float before, float behind) const {
    return is_empty ? before : is_first ? behind : simt::fma(behind, later, simt::mul(before, earlier));
  }
};
OCTAVO_GPU_DEVICE Merge merge_of(const Softmax& before, const Softmax& behind, bool is_first) {
  if (behind.max == minus_infinity()) return {before, 1.0F, 0.0F, is_first, true};
  if (is_first) return {behind, 0.0F, 1.0F, true, false};
  const float max = behind.max > before.max ? behind.max : before.max;
  const float a = merging_weight(simt::sub(before.max, max)), b = merging_weight(simt::sub(behind.max, max));
  return {{max, simt::add(simt::mul(before.sum, a), simt::mul(behind.sum, b))}, a, b, false, false};
}

/// The factor of a state's values: 1 over the sum of weights, to which a sink contributes.
OCTAVO_GPU_DEVICE float output_factor(const Softmax& softmax, const float* sink) {
  if (sink == nullptr) return simt::div(1.0F, softmax.sum);
  const float top = *sink > softmax.max ? *sink : softmax.max;
  const float weight = merging_weight(simt::sub(softmax.max, top));
  return simt::div(weight, simt::add(simt::mul(softmax.sum, weight), merging_weight(simt::sub(*sink, top))));
}

/// Merges the tile's results into those of all earlier tiles.
template <int N>
OCTAVO_GPU_DEVICE void merge_tile(int dim, AttentionMemory<N>& m) {
  const int i = simt::thread() / 32, lane = simt::thread() % 32;
  if (i < N) {
    float* const state = state_of(m, dim, i);
    const float* const part = part_of(m, dim, i);
    const Merge merge = merge_of({state[dim], state[dim + 1]}, {part[dim], part[dim + 1]}, m.is_first[i]);
    simt::sync_warp();
    for (int d = lane; d < dim; d += 32) state[d] = merge.of(state[d], part[d]);
    if (lane == 0) {
      state[dim] = merge.all.max, state[dim + 1] = merge.all.sum;
      m.is_first[i] = merge.is_first && merge.is_empty;
    }
  }
  simt::sync_block();
}

/// Writes one head's output from its merged state; NaN where no score was above -inf.
OCTAVO_GPU_DEVICE void write_output(const float* state, int dim, bool has_none, const float* sink, float* out,
                                    int lane) {
  const float inverse = has_none ? simt::as_float(0x7FC00000) : output_factor({state[dim], state[dim + 1]}, sink);
  for (int d = lane; d < dim; d += 32) out[d] = has_none ? inverse : simt::mul(state[d], inverse);
}

/// Attends for an entry (x) and a KV head (y). With partials, x goes over entries and tiles: x / num_entries is a tile.
template <CardKvType T, int N>
OCTAVO_GPU_DEVICE void attend(const AttentionArguments& a) {
  auto& m = *(AttentionMemory<N>*)simt::shared();
  const AttentionEntry e = a.entries[simt::block_x() % a.num_entries];
  const int dim = a.kv.head_dim, count = e.num_rows * e.num_heads, i = simt::warp(), lane = simt::lane();
  const int of_entry = simt::block_x() / a.num_entries;
  const int begin = sight_of(a, e.first_row).begin / kTileTokens;
  const int end = (sight_of(a, e.first_row + e.num_rows - 1).end + kTileTokens - 1) / kTileTokens;
  const int first = a.partials != nullptr ? begin + of_entry : begin;
  const int last = a.partials == nullptr || end < first + 1 ? end : first + 1;
  load_queries<T, N>(a, e, m);
  const int row = a.batch_row != nullptr ? a.batch_row[e.first_row] : e.first_row;
  const int32_t* const blocks = a.blocks + a.first_block[row];
  for (int tile = first; tile < last; ++tile) {
    if (view_tile(a, e, tile * kTileTokens, m)) {
      tile_scores<T, N>(a, blocks, tile * kTileTokens, m);
      tile_weights<N>(a, m);
      simt::sync_block();
      tile_values<T, N>(a, blocks, tile * kTileTokens, m);
      merge_tile<N>(dim, m);
    }
  }
  if (i >= count || i >= N) return;
  const CardQuery query = query_of(e, i);
  float* const state = state_of(m, dim, i);
  if (a.partials == nullptr) {
    const float* sink = a.sinks != nullptr ? a.sinks + simt::block_y() * a.heads_of_kv + query.head : nullptr;
    return write_output(state, dim, m.is_first[i], sink, a.out + head_of(a, query) * dim, lane);
  }
  const int64_t heads = (int64_t)a.num_rows * a.kv.num_kv_heads * a.heads_of_kv;
  float* const to = a.partials + (of_entry * heads + head_of(a, query)) * (dim + 2);
  if (m.is_first[i]) {
    if (lane == 0) to[dim] = minus_infinity();
    return;
  }
  for (int d = lane; d < dim + 2; d += 32) to[d] = state[d];
}

OCTAVO_GPU_DEVICE void merge_tiles(const MergeTilesArguments& a) {
  auto* const state = (float*)simt::shared();
  const int head = simt::block_x(), lane = simt::thread(), dim = a.head_dim;
  const int64_t at = (int64_t)simt::block_y() * a.num_heads + head, heads = (int64_t)a.num_rows * a.num_heads;
  Softmax softmax = {minus_infinity(), 0.0F};
  bool is_first = true;
  for (int tile = 0; tile < a.num_tiles; ++tile) {
    const float* const part = a.partials + (tile * heads + at) * (dim + 2);
    if (part[dim] == minus_infinity()) continue;
    const Merge merge = merge_of(softmax, {part[dim], part[dim + 1]}, is_first);
    for (int d = lane; d < dim; d += 32) state[d] = merge.of(state[d], part[d]);
    softmax = merge.all, is_first = false;
  }
  const float* const sink = a.sinks != nullptr ? a.sinks + head : nullptr;
  const float inverse = is_first ? simt::as_float(0x7FC00000) : output_factor(softmax, sink);
  for (int d = lane; d < dim; d += 32) a.out[at * dim + d] = is_first ? inverse : simt::mul(state[d], inverse);
}

}  // namespace octavo::gpu

#define OCTAVO_GPU_ATTEND(queries, name, type)                          \
  OCTAVO_GPU_KERNEL(octavo::gpu::kAttentionThreads, 1)                  \
  octavo_attend_##queries##_##name(octavo::gpu::AttentionArguments a) { \
    octavo::gpu::attend<octavo::gpu::CardKvType::type, queries>(a);     \
  }
OCTAVO_GPU_ATTEND(1, f16, kF16)
OCTAVO_GPU_ATTEND(1, i16, kI16)
OCTAVO_GPU_ATTEND(2, f16, kF16)
OCTAVO_GPU_ATTEND(2, i16, kI16)
OCTAVO_GPU_ATTEND(4, f16, kF16)
OCTAVO_GPU_ATTEND(4, i16, kI16)
OCTAVO_GPU_ATTEND(8, f16, kF16)
OCTAVO_GPU_ATTEND(8, i16, kI16)
#undef OCTAVO_GPU_ATTEND
OCTAVO_GPU_KERNEL(32, 1) octavo_merge_tiles(octavo::gpu::MergeTilesArguments a) { octavo::gpu::merge_tiles(a); }
