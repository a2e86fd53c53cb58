// Products of weights with many rows: a block has some panels, some row tiles, and all of K in ascending order.
#pragma once

#include "gpu/kernels/product_formats.h"

namespace octavo::gpu {

/// One warp of a block of shape S.
template <class F, TileShape S>
struct TileWarp {
  static constexpr int kCols = tile_cols(F::kType), kPairs = kCols / kPairCols,
                       kBlockCols = F::kScaledBlocks * kActBlock;
  static constexpr int kSliceBytes = slice_bytes(F::kType, kCols), kActBytes = kPairs * (int)sizeof(ActPair);
  static constexpr int kStageBytes = tile_stage_bytes(F::kType, S), kWeightBytes = S.panels() * kSliceBytes;
  static constexpr int kP = S.panels_of_warp, kT = S.tiles_of_warp;
  /// Whether each pair of blocks of 32 columns is whole.
  static constexpr bool kWholePairs = packed_block(F::kType).block > kActBlock;
  using Sums = float[kP][kT][4];  // [2 r + n]

  const ProductOfPanels& m;
  const int g = simt::lane() / 4, j = simt::lane() % 4;
  const int first_panel, first_tile;  // of the block
  const int warp_panel, warp_tile;    // the first ones of the warp, counted from those
  Sums acc, part;

  OCTAVO_GPU_DEVICE TileWarp(const ProductOfPanels& argument, int tile)
      : m(argument),
        first_panel(simt::block_x() * S.panels()),
        first_tile(tile),
        warp_panel(simt::warp() % S.warps_of_panels * kP),
        warp_tile(simt::warp() / S.warps_of_panels * kT) {
    clear(acc);
    clear(part);
  }

  OCTAVO_GPU_DEVICE void run() {
    uint8_t* const decoded = simt::shared() + S.stages * kStageBytes;
    const int slices = (int)((m.cols + kCols - 1) / kCols);
    for (int s = 0; s < S.stages - 1; ++s) fetch(s, slices);
    for (int slice = 0; slice < slices; ++slice) {
      const uint8_t* const stage = simt::shared() + slice % S.stages * kStageBytes;
      simt::wait_copies<S.stages - 2>();
      simt::sync_block();  // all threads have copied, and are done with the slice before this
      fetch(slice + S.stages - 1, slices);
      if constexpr (F::kSharedScales) {
        for (int p = simt::warp(); p < S.panels(); p += S.warps())
          decode_scales<F>(stage + p * kSliceBytes, decoded + p * kScaleBytes);
        simt::sync_block();
      }
      const int64_t left = m.cols - (int64_t)slice * kCols;
      multiply_slice(stage, decoded, left < kCols ? (int)left : kCols);
    }
    store();
  }

 private:
  OCTAVO_GPU_DEVICE static void clear(Sums& sums) {
    OCTAVO_GPU_UNROLL
    for (int i = 0; i < kP * kT * 4; ++i) sums[i / 4 / kT][i / 4 % kT][i % 4] = 0;
  }
  OCTAVO_GPU_DEVICE int num_panels() const { return (int)((m.outputs + kPanelRows - 1) / kPanelRows); }

  /// Begins to copy a slice to its stage. What does not exist is replaced by the last of its kind, and is not used.
  OCTAVO_GPU_DEVICE void fetch(int slice, int slices) {
    if (slice < slices) {
      uint8_t* const stage = simt::shared() + slice % S.stages * kStageBytes;
      const int64_t first = (int64_t)slice * kCols;
      const int last_panel = num_panels() - 1, last_tile = (int)act_tiles(m.rows) - 1, pairs = act_pairs(m.cols);
      for (int p = simt::warp(); p < S.panels(); p += S.warps()) {
        const int panel = first_panel + p < last_panel ? first_panel + p : last_panel;
        copy_columns<F, kCols>(stage + p * kSliceBytes, m.panels + (size_t)panel * panel_bytes(F::kType, m.cols),
                               m.cols, first);
      }
      const int first_pair = slice * kPairs, here = pairs - first_pair < kPairs ? pairs - first_pair : kPairs;
      for (int t = simt::warp(); t < S.tiles(); t += S.warps()) {
        const int tile = first_tile + t < last_tile ? first_tile + t : last_tile;
        copy_by_warp<kActBytes>(stage + kWeightBytes + t * kActBytes,
                                (const uint8_t*)(m.x + (size_t)tile * (size_t)pairs + first_pair),
                                here * (int)sizeof(ActPair));
      }
    }
    simt::commit();
  }

  OCTAVO_GPU_DEVICE void multiply_slice(const uint8_t* stage, const uint8_t* decoded, int cols) {
    const uint8_t* const weights = stage + warp_panel * kSliceBytes;
    const auto* const acts = (const ActPair*)(stage + kWeightBytes) + warp_tile * kPairs;
    OCTAVO_GPU_KEEP_LOOP
    for (int pair = 0; pair * kPairCols < cols; ++pair) {
      const uint8_t* const scales = decoded + warp_panel * kScaleBytes;
      if (kWholePairs || (pair + 1) * kPairCols <= cols) {
        multiply_pair<2>(weights, scales, acts, pair);
      } else {
        multiply_pair<1>(weights, scales, acts, pair);
      }
      if constexpr (F::kScaledBlocks > 1)
        if ((pair + 1) * kPairCols % kBlockCols == 0) end_weight_block(weights, pair * kPairCols / kBlockCols);
    }
  }

  /// Computes the products of the first `Blocks` of two blocks of 32 columns.
  template <int Blocks>
  OCTAVO_GPU_DEVICE void multiply_pair(const uint8_t* weights, const uint8_t* decoded, const ActPair* acts, int pair) {
    uint32_t a[kP][Blocks][4];
    BlockScales<F> scales[kP][Blocks];
    OCTAVO_GPU_UNROLL
    for (int p = 0; p < kP; ++p) OCTAVO_GPU_UNROLL
    for (int h = 0; h < Blocks; ++h) {
      load_weights<F>(weights + p * kSliceBytes, 2 * pair + h, g, j, a[p][h]);
      scales[p][h].load(weights + p * kSliceBytes, decoded + p * kScaleBytes, 2 * pair + h, g);
    }
    OCTAVO_GPU_UNROLL
    for (int t = 0; t < kT; ++t) {
      ActsOfPair<F> x;
      x.load(acts[t * kPairs + pair], g, j, true);
      BlockSums<F> sums[kP][Blocks];
      OCTAVO_GPU_UNROLL
      for (int i = 0; i < kP * Blocks; ++i)
        sums[i / Blocks][i % Blocks].multiply(a[i / Blocks][i % Blocks], x.block[i % Blocks]);
      OCTAVO_GPU_UNROLL
      for (int i = 0; i < kP * Blocks; ++i)
        add(i / Blocks, t, scales[i / Blocks][i % Blocks], x.block[i % Blocks], sums[i / Blocks][i % Blocks]);
    }
  }

  OCTAVO_GPU_DEVICE void add(int p, int t, const BlockScales<F>& scales, const ActBlock<F>& x,
                             const BlockSums<F>& sums) {
    OCTAVO_GPU_UNROLL
    for (int i = 0; i < 4; ++i) {
      const int r = i / 2, n = i % 2;
      float& to = F::kScaledBlocks > 1 ? part[p][t][i] : acc[p][t][i];
      to = simt::fma(sums.value(scales, x, r, n), factor_of(scales, x, r, n), to);
      if constexpr (F::kHasMin) {
        OCTAVO_GPU_UNROLL
        for (int of = 0; of < F::kParts; ++of)
          acc[p][t][i] = simt::fma(scales.minimum[of][r], x.sum_for_minimum(of, n), acc[p][t][i]);
      }
    }
  }

  OCTAVO_GPU_DEVICE void end_weight_block(const uint8_t* weights, int block) {
    OCTAVO_GPU_UNROLL
    for (int p = 0; p < kP; ++p) OCTAVO_GPU_UNROLL
    for (int r = 0; r < 2; ++r) {
      const float d = block_scale<F>(weights + p * kSliceBytes, block, g, r);
      OCTAVO_GPU_UNROLL
      for (int t = 0; t < kT; ++t) OCTAVO_GPU_UNROLL
      for (int n = 0; n < 2; ++n) acc[p][t][2 * r + n] = simt::fma(part[p][t][2 * r + n], d, acc[p][t][2 * r + n]);
    }
    clear(part);
  }

  OCTAVO_GPU_DEVICE void store() const {
    OCTAVO_GPU_UNROLL
    for (int p = 0; p < kP; ++p) OCTAVO_GPU_UNROLL
    for (int r = 0; r < 2; ++r) {
      const int panel = first_panel + warp_panel + p, of_panel = g + 8 * r;
      const int64_t output = (int64_t)panel * kPanelRows + of_panel;
      if (output >= m.outputs) continue;
      float unit = 1;
      if constexpr (F::kPairs)
        unit = row_unit(F::kType, m.panels + (size_t)panel * panel_bytes(F::kType, m.cols), m.cols, of_panel);
      OCTAVO_GPU_UNROLL
      for (int t = 0; t < kT; ++t) OCTAVO_GPU_UNROLL
      for (int n = 0; n < 2; ++n) {
        const int64_t row = (int64_t)(first_tile + warp_tile + t) * kRowsOfTile + 2 * j + n;
        if (row >= m.rows) continue;
        const float v = acc[p][t][2 * r + n];
        m.y[row * m.ldy + output] = F::kPairs ? simt::mul(v, unit) : v;
      }
    }
  }
};

}  // namespace octavo::gpu
