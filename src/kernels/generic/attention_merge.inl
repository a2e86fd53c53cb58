// Results of attention over some positions taken in by those over the positions before (Milakov and Gimelshein 2018).
#pragma once

#include "kernels/generic/attention_scores.inl"

namespace octavo {
namespace {

/// A query's result over some positions: o[head_dim], then the largest score and the sum of weights.
inline float& max_of(float* state, int head_dim) { return state[head_dim]; }
inline float& sum_of(float* state, int head_dim) { return state[head_dim + 1]; }

/// `state` takes in what later positions gave; the first result is taken as it is.
inline void merge_into(float* state, const float* part, int head_dim) {
  const float later = part[head_dim];
  if (later == kNoScore) return;  // the query saw none of those positions
  if (max_of(state, head_dim) == kNoScore) {
    __builtin_memcpy(state, part, (size_t)(head_dim + 2) * sizeof(float));
    return;
  }
  const float earlier = max_of(state, head_dim);
  const float max = later > earlier ? later : earlier;
  const float a = exp_of(earlier - max), b = exp_of(later - max);
  const F32 a_all = f32_set(a), b_all = f32_set(b);
  for_vectors(
      head_dim,
      [&](int64_t d) { f32_store(state + d, f32_fma(f32_load(part + d), b_all, f32_mul(f32_load(state + d), a_all))); },
      [&](int64_t d, int n) {
        const F32 scaled = f32_mul(f32_load_n(state + d, n), a_all);
        f32_store_n(state + d, f32_fma(f32_load_n(part + d, n), b_all, scaled), n);
      });
  max_of(state, head_dim) = max;
  sum_of(state, head_dim) = sum_of(state, head_dim) * a + part[head_dim + 1] * b;
}

inline void write_output(const float* state, int head_dim, float* out) {
  const F32 inverse = f32_set(1.0F / state[head_dim + 1]);
  for_vectors(
      head_dim, [&](int64_t d) { f32_store(out + d, f32_mul(f32_load(state + d), inverse)); },
      [&](int64_t d, int n) { f32_store_n(out + d, f32_mul(f32_load_n(state + d, n), inverse), n); });
}

/// Up to kMergeTiles tiles at once, of which the largest scores so far are known before any weight is.
inline constexpr int kMergeTiles = 16;
static_assert(kMergeTiles % kLanes == 0);

/// Tiles that a query sees something of, in order, and what its results so far and theirs are multiplied by.
struct Merge {
  const float* part[kMergeTiles];
  float earlier[kMergeTiles] = {}, later[kMergeTiles] = {};
  int count = 0;
  float max;

  explicit Merge(float max_before) : max(max_before) {}
  void add(const float* tile, float max_of_tile) {
    if (max_of_tile == kNoScore) return;
    const float all = max_of_tile > max ? max_of_tile : max;
    earlier[count] = max - all;
    later[count] = max_of_tile - all;
    part[count++] = tile;
    max = all;
  }
  void weigh() {
    for (int i = 0; i < count; i += kLanes) {
      f32_store(earlier + i, f32_exp(f32_load(earlier + i)));
      f32_store(later + i, f32_exp(f32_load(later + i)));
    }
  }
};

/// What merge_into does, of many tiles: each sum goes through all of them in a register.
inline void merge_into(float* state, const Merge& merge, int head_dim) {
  for_vectors(
      head_dim,
      [&](int64_t d) {
        F32 sum = f32_load(state + d);
        for (int i = 0; i < merge.count; ++i)
          sum = f32_fma(f32_load(merge.part[i] + d), f32_set(merge.later[i]), f32_mul(sum, f32_set(merge.earlier[i])));
        f32_store(state + d, sum);
      },
      [&](int64_t d, int n) {
        F32 sum = f32_load_n(state + d, n);
        for (int i = 0; i < merge.count; ++i) {
          const F32 scaled = f32_mul(sum, f32_set(merge.earlier[i]));
          sum = f32_fma(f32_load_n(merge.part[i] + d, n), f32_set(merge.later[i]), scaled);
        }
        f32_store_n(state + d, sum, n);
      });
  float sum = sum_of(state, head_dim);
  for (int i = 0; i < merge.count; ++i) sum = sum * merge.earlier[i] + merge.part[i][head_dim + 1] * merge.later[i];
  sum_of(state, head_dim) = sum;
  max_of(state, head_dim) = merge.max;
}

void merge_tiles(const float* partials, int64_t stride, int num_tiles, int head_dim, bool first, float* state,
                 float* out) {
  if (first) max_of(state, head_dim) = kNoScore;
  int tile = 0;
  for (; tile < num_tiles && max_of(state, head_dim) == kNoScore; ++tile)
    merge_into(state, partials + tile * stride, head_dim);
  while (tile < num_tiles) {
    Merge merge(max_of(state, head_dim));
    for (; tile < num_tiles && merge.count < kMergeTiles; ++tile)
      merge.add(partials + tile * stride, partials[tile * stride + head_dim]);
    merge.weigh();
    merge_into(state, merge, head_dim);
  }
  if (out != nullptr) write_output(state, head_dim, out);
}

}  // namespace
}  // namespace octavo
