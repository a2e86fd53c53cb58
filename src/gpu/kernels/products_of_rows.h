// Products of weights with one to eight rows, in ascending order of K, although many warps share K.
//
// The warps of a block take the slices of its panels in turn, 256 columns each (Q1_0: 1024). A warp copies its slices
// ahead, multiplies, and turns the sums into the floats and factors that are to be added, independently of other warps.
// Only the additions wait: a row's sum goes from warp to warp in the order of K, like a baton. So the result has the
// CPU's bits, and all warps read a panel at once.
#pragma once

#include "gpu/kernels/product_formats.h"

namespace octavo::gpu {

/// A lane's part of the rows for one slice: loaded before the weights arrive, if there are registers enough.
template <class F>
struct ActsOfSlice {
  static constexpr int kPairs = baton_cols(F::kType) / kPairCols;
  static constexpr bool kLoadedAhead = kPairs <= 4;
  const ActPair* x;  // the slice's first pair
  int last;          // the number of the last pair that exists
  int g, j;
  bool has_row;
  ActsOfPair<F> ahead[kLoadedAhead ? kPairs : 1];

  OCTAVO_GPU_DEVICE ActsOfSlice(const ActPair* first, int last_pair, int rows)
      : x(first), last(last_pair), g(simt::lane() / 4), j(simt::lane() % 4), has_row(simt::lane() / 4 < rows) {
    if constexpr (kLoadedAhead) {
      OCTAVO_GPU_UNROLL
      for (int i = 0; i < kPairs; ++i) ahead[i] = load(i);
    }
  }
  OCTAVO_GPU_DEVICE ActsOfPair<F> pair(int i) const {
    if constexpr (kLoadedAhead) return ahead[i];
    return load(i);
  }

 private:
  // A pair that does not exist is replaced by the last one; nothing of it is added.
  OCTAVO_GPU_DEVICE ActsOfPair<F> load(int i) const {
    ActsOfPair<F> loaded;
    loaded.load(x[i < last ? i : last], g, j, has_row);
    return loaded;
  }
};

/// The terms that a slice adds to the sums of two rows of the panel and C rows of activations.
template <class F, int C>
struct Additions {
  static constexpr int kBlocks = baton_cols(F::kType) / kActBlock, kSteps = kBlocks / F::kScaledBlocks;
  static constexpr bool kWholeSlices = packed_block(F::kType).block == baton_cols(F::kType);
  static constexpr int kMinimums = F::kHasMin ? kBlocks * F::kParts : 1;
  float value[kSteps][2][C], factor[kSteps][2][C];
  float minimum[kMinimums][2], sum[kMinimums][C];

  /// Computes the additions of a slice. `decoded`: room for its scales.
  OCTAVO_GPU_DEVICE void make(const uint8_t* slice, uint8_t* decoded, const ActsOfSlice<F>& acts) {
    if constexpr (F::kSharedScales) {
      decode_scales<F>(slice, decoded);
      BlockSums<F> sums[kBlocks];
      OCTAVO_GPU_UNROLL
      for (int b = 0; b < kBlocks; ++b) multiply(slice, b, acts.pair(b / 2).block[b % 2], sums[b]);
      simt::sync_warp();
      OCTAVO_GPU_UNROLL
      for (int b = 0; b < kBlocks; ++b) add_block(slice, decoded, b, acts.pair(b / 2).block[b % 2], sums[b]);
    } else {
      OCTAVO_GPU_UNROLL
      for (int p = 0; p < kBlocks / 2; ++p) {
        if constexpr (!ActsOfSlice<F>::kLoadedAhead) simt::sync_warp();  // else all pairs would be loaded at once
        const ActsOfPair<F> pair = acts.pair(p);
        OCTAVO_GPU_UNROLL
        for (int h = 0; h < 2; ++h) {
          BlockSums<F> sums;
          multiply(slice, 2 * p + h, pair.block[h], sums);
          add_block(slice, decoded, 2 * p + h, pair.block[h], sums);
        }
      }
    }
  }

  /// Forces all to be computed here: compilers would move the work to where it is used, and other warps wait there.
  OCTAVO_GPU_DEVICE void finish() {
    constexpr bool kOwnFactors = F::kScaledBlocks == 1 && !F::kPairs && !F::kSixteens;
    OCTAVO_GPU_UNROLL
    for (int i = 0; i < kSteps * 2 * C; ++i) {
      simt::finish(value[i / 2 / C][i / C % 2][i % C]);
      if constexpr (kOwnFactors) simt::finish(factor[i / 2 / C][i / C % 2][i % C]);
    }
    if constexpr (F::kHasMin) {
      OCTAVO_GPU_UNROLL
      for (int i = 0; i < kMinimums; ++i) {
        for (int r = 0; r < 2; ++r) simt::finish(minimum[i][r]);
        for (int n = 0; F::kParts > 1 && n < C; ++n) simt::finish(sum[i][n]);
      }
    }
  }

  /// Adds the first `steps` of them, in order.
  OCTAVO_GPU_DEVICE void add_to(float (&acc)[2][C], int steps) const {
    if constexpr (F::kWords) {
      OCTAVO_GPU_UNROLL
      for (int i = 0; i < kMinimums; ++i) add_minimum(acc, i);
    }
    if (kWholeSlices || steps >= kSteps) {
      OCTAVO_GPU_UNROLL
      for (int s = 0; s < kSteps; ++s) add_step(acc, s);
    } else {
      OCTAVO_GPU_UNROLL
      for (int s = 0; s < kSteps; ++s)
        if (s < steps) add_step(acc, s);
    }
  }

 private:
  OCTAVO_GPU_DEVICE static void multiply(const uint8_t* slice, int b, const ActBlock<F>& x, BlockSums<F>& sums) {
    uint32_t a[4];
    load_weights<F>(slice, b, simt::lane() / 4, simt::lane() % 4, a);
    sums.multiply(a, x);
  }
  OCTAVO_GPU_DEVICE void add_block(const uint8_t* slice, const uint8_t* decoded, int b, const ActBlock<F>& x,
                                   const BlockSums<F>& sums) {
    const int g = simt::lane() / 4, step = b / F::kScaledBlocks;
    BlockScales<F> scales;
    scales.load(slice, decoded, b, g);
    OCTAVO_GPU_UNROLL
    for (int r = 0; r < 2; ++r) OCTAVO_GPU_UNROLL
    for (int n = 0; n < C; ++n) {
      const float v = sums.value(scales, x, r, n), f = factor_of(scales, x, r, n);
      if constexpr (F::kScaledBlocks == 1) {
        value[step][r][n] = v;
        factor[step][r][n] = f;
      } else {
        value[step][r][n] = simt::fma(v, f, b % F::kScaledBlocks == 0 ? 0.0F : value[step][r][n]);
        factor[step][r][n] = block_scale<F>(slice, step, g, r);
      }
    }
    if constexpr (F::kHasMin) {
      OCTAVO_GPU_UNROLL
      for (int part = 0; part < F::kParts; ++part) {
        for (int r = 0; r < 2; ++r) minimum[b * F::kParts + part][r] = scales.minimum[part][r];
        for (int n = 0; n < C; ++n) sum[b * F::kParts + part][n] = x.sum_for_minimum(part, n);
      }
    }
  }
  OCTAVO_GPU_DEVICE void add_minimum(float (&acc)[2][C], int i) const {
    OCTAVO_GPU_UNROLL
    for (int r = 0; r < 2; ++r) OCTAVO_GPU_UNROLL
    for (int n = 0; n < C; ++n) acc[r][n] = simt::fma(minimum[i][r], sum[i][n], acc[r][n]);
  }
  OCTAVO_GPU_DEVICE void add_step(float (&acc)[2][C], int s) const {
    OCTAVO_GPU_UNROLL
    for (int r = 0; r < 2; ++r) OCTAVO_GPU_UNROLL
    for (int n = 0; n < C; ++n) acc[r][n] = simt::fma(value[s][r][n], factor[s][r][n], acc[r][n]);
    if constexpr (F::kHasMin && !F::kWords) add_minimum(acc, s);
  }
};

/// A position among the slices of a block's panels, for a warp that takes every W-th slice.
template <int W>
struct SlicePlace {
  int slices;            // slices in a panel
  int at, slice, panel;  // the number among all slices; then the number in the panel, and the panel

  OCTAVO_GPU_DEVICE explicit SlicePlace(int of_panel)
      : slices(of_panel), at(simt::warp()), slice(simt::warp()), panel(simt::block_x()) {
    settle();
  }
  OCTAVO_GPU_DEVICE void next() {
    at += W;
    slice += W;
    settle();
  }

 private:
  OCTAVO_GPU_DEVICE void settle() {
    while (slice >= slices) slice -= slices, panel += simt::grid_x();
  }
};

/// One warp of a product of up to eight rows; each lane has C of them.
template <class F, int C, int W>
struct BatonWarp {
  static constexpr int kCols = baton_cols(F::kType), kStages = kBatonStages, kBytes = slice_bytes(F::kType, kCols);
  const ProductOfPanels& m;
  const size_t bytes_of_panel;
  const int slices, total;  // slices in a panel, and of the block
  uint8_t *ring, *decoded;
  float* baton;  // [kMaxBatonRows][kPanelRows]
  SlicePlace<W> ahead;
  int ahead_slot = 0;

  OCTAVO_GPU_DEVICE explicit BatonWarp(const ProductOfPanels& argument)
      : m(argument),
        bytes_of_panel(panel_bytes(F::kType, argument.cols)),
        slices((int)((argument.cols + kCols - 1) / kCols)),
        total(panels_of_block(argument) * slices),
        ring(simt::shared() + simt::warp() * kStages * kBytes),
        decoded(simt::shared() + W * kStages * kBytes + simt::warp() * kScaleBytes),
        baton((float*)(simt::shared() + baton_shared_bytes(F::kType, W)) - kMaxBatonRows * kPanelRows),
        ahead(slices) {}

  OCTAVO_GPU_DEVICE void run() {
    for (int s = 0; s < kStages - 1; ++s) fetch();
    int slot = 0;
    for (SlicePlace<W> here(slices); here.at < total; here.next()) {
      const int64_t first = (int64_t)here.slice * kCols;
      const ActsOfSlice<F> acts(m.x + first / kPairCols, act_pairs(m.cols - first) - 1, m.rows);
      simt::wait_copies<kStages - 2>();
      simt::sync_warp();  // all lanes have the slice, and are done with the one before it
      fetch();            // into the place of the slice before this
      Additions<F, C> additions;
      additions.make(ring + slot * kBytes, decoded, acts);
      additions.finish();
      const int64_t blocks = (m.cols - first) / kActBlock;
      if (here.at > 0) simt::await(simt::warp() + 1);
      float acc[2][C];
      take(acc, here.slice == 0);
      additions.add_to(acc,
                       (int)(blocks < Additions<F, C>::kBlocks ? blocks : Additions<F, C>::kBlocks) / F::kScaledBlocks);
      if (here.slice == slices - 1) {
        store(acc, here.panel);
      } else {
        give(acc);
      }
      if (here.at + 1 < total) simt::pass((simt::warp() + 1) % W + 1);
      if (++slot == kStages) slot = 0;
    }
  }

 private:
  OCTAVO_GPU_DEVICE static int panels_of_block(const ProductOfPanels& m) {
    const int panels = (int)((m.outputs + kPanelRows - 1) / kPanelRows);
    return (panels - simt::block_x() + simt::grid_x() - 1) / simt::grid_x();
  }
  OCTAVO_GPU_DEVICE void fetch() {
    if (ahead.at < total)
      copy_columns<F, kCols>(ring + ahead_slot * kBytes, m.panels + (size_t)ahead.panel * bytes_of_panel, m.cols,
                             (int64_t)ahead.slice * kCols);
    simt::commit();
    ahead.next();
    if (++ahead_slot == kStages) ahead_slot = 0;
  }
  /// Where a sum is in the baton.
  OCTAVO_GPU_DEVICE static int place_of(int r, int n) {
    return (2 * (simt::lane() % 4) + n) * kPanelRows + simt::lane() / 4 + 8 * r;
  }
  OCTAVO_GPU_DEVICE void take(float (&acc)[2][C], bool begins) const {
    OCTAVO_GPU_UNROLL
    for (int r = 0; r < 2; ++r) OCTAVO_GPU_UNROLL
    for (int n = 0; n < C; ++n) acc[r][n] = begins ? 0.0F : baton[place_of(r, n)];
  }
  OCTAVO_GPU_DEVICE void give(const float (&acc)[2][C]) const {
    OCTAVO_GPU_UNROLL
    for (int r = 0; r < 2; ++r) OCTAVO_GPU_UNROLL
    for (int n = 0; n < C; ++n) baton[place_of(r, n)] = acc[r][n];
  }
  OCTAVO_GPU_DEVICE void store(const float (&acc)[2][C], int panel) const {
    OCTAVO_GPU_UNROLL
    for (int r = 0; r < 2; ++r) OCTAVO_GPU_UNROLL
    for (int n = 0; n < C; ++n) {
      const int row = 2 * (simt::lane() % 4) + n, of_panel = simt::lane() / 4 + 8 * r;
      const int64_t output = (int64_t)panel * kPanelRows + of_panel;
      if (row >= m.rows || output >= m.outputs) continue;
      float v = acc[r][n];
      if constexpr (F::kPairs)
        v = simt::mul(v, row_unit(F::kType, m.panels + (size_t)panel * bytes_of_panel, m.cols, of_panel));
      m.y[row * m.ldy + output] = v;
    }
  }
};

}  // namespace octavo::gpu
