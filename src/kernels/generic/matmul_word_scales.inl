// Products of blocks of 256 whose sub-blocks have integer scales, where sums of byte products have 16 bits (AVX2).
//
// The instruction that widens such a sum to 32 bits multiplies it by any 16-bit number, so a sub-block's scale costs
// nothing: it stands where a 1 would. What is left for floats is one conversion and one multiply-add for the scale of
// the activations, and the block's d once for 256 weights. A zero point would be one more product of integers; as a
// minimum it is one multiply-add.
#pragma once

#include "kernels/generic/block_scales.inl"
#include "kernels/kernels.h"

namespace octavo {
namespace {

inline constexpr int kGroupTiles = 4;  // row tiles for which a block is unpacked once

/// kLanes outputs of one row.
inline void store_outputs(F32 v, const PackedMatrix& w, int64_t output, float* row) {
  if (const int64_t left = w.rows - output; left >= kLanes) {
    f32_store(row + output, v);
  } else {
    f32_store_n(row + output, v, (int)left);
  }
}

/// The sums of one row where blocks have word scales.
struct WordSums {
  F32 scaled;  // products times integer scales and the scale of the activations: lacks the block's d
  F32 rest;    // the blocks before it, and its own minimums
};
/// Adds 32 weights times rows row .. row + N of x, sub-block by sub-block: an integer scale multiplies sums of 16 bits.
template <DType T, int N, int R>
OCTAVO_KERNEL_PART void add_word_rows(const U8 (&q)[8], const BlockScales<T>& block, int g, const ActTile<R>& x,
                                      int row, WordSums* sums) {
  using W = Weights<T>;
  constexpr int kParts = 32 / W::kSubBlock, kQuads = 8 / kParts;
  constexpr int kQuadsAtOnce = small_sum_quads(W::kMaxByte) < kQuads ? small_sum_quads(W::kMaxByte) : kQuads;
  I32 dot[N];
  for (int r = 0; r < N; ++r) dot[r] = i32_zero();
#pragma GCC unroll 8
  for (int j = 0; j < 8; j += kQuadsAtOnce) {
    SmallSum sum[N];
    for (int r = 0; r < N; ++r) sum[r] = small_sum_of(dot[r]);
#pragma GCC unroll 8
    for (int i = j; i < j + kQuadsAtOnce; ++i)
      for (int r = 0; r < N; ++r)
        sum[r] = keep_chain<R>(add_products(sum[r], q[i], u8_broadcast4(&x.q[row + r][i * kQuad])));
    for (int r = 0; r < N; ++r) dot[r] = add_scaled(dot[r], sum[r], block.scale[g * kParts + j / kQuads]);
  }
  for (int r = 0; r < N; ++r) {
    WordSums& s = sums[row + r];
    s.scaled = f32_fma(i32_to_f32(dot[r]), f32_set(x.scale[row + r]), s.scaled);
#pragma GCC unroll 2
    for (int part = 0; part < kParts; ++part)
      s.rest = f32_fma(block.minimum[g * kParts + part],
                       f32_set(kParts == 1 ? x.sum32[row + r] : x.sum16[part][row + r]), s.rest);
  }
}

/// The same for all rows of x: at once where sums are long chains, one by one where they are short and many.
template <DType T, int R>
OCTAVO_KERNEL_PART void add_word_block(const U8 (&q)[8], const BlockScales<T>& block, int g, const ActTile<R>& x,
                                       WordSums* sums) {
  constexpr int kAtOnce = small_sum_quads(Weights<T>::kMaxByte) > 2 ? R : 1;
#pragma GCC unroll 4
  for (int row = 0; row < R; row += kAtOnce) add_word_rows<T, kAtOnce>(q, block, g, x, row, sums);
}

/// sums[row] = kLanes outputs of half h of a panel, times the rows of `tiles` row tiles, tile_bytes apart. Each block
/// is unpacked once for all of them: it stays in registers, while their sums go through memory.
template <DType T>
OCTAVO_KERNEL_PART void dot_group(const uint8_t* panel, NextPanels ahead, const BlockScales<T> (*scales)[1],
                                  int64_t cols, int h, const uint8_t* first, size_t tile_bytes, int tiles,
                                  WordSums* sums) {
  constexpr int kActBlocks = packed_block(T).block / kActBlock;
  for (int row = 0; row < tiles * kTileRows; ++row) sums[row] = {f32_zero(), f32_zero()};
  for_blocks<T>(panel, cols, [&](const uint8_t*, int, const uint8_t* quads, const uint8_t*) {
    const BlockScales<T>& block = (*scales++)[0];
    for (int g = 0; g < kActBlocks; ++g) {
      U8 q[8];
      load_quads<T>(quads + h * kRowBytes, g, q);
      ahead.read();
      const uint8_t* tile = first;
      for (int t = 0; t < tiles; ++t, tile += tile_bytes)
        add_word_block<T>(q, block, g, *(const ActTile<kTileRows>*)tile, sums + t * kTileRows);
      first += sizeof(ActTile<kTileRows>);
    }
    for (int row = 0; row < tiles * kTileRows; ++row)
      sums[row] = {f32_zero(), f32_fma(sums[row].scaled, block.d, sums[row].rest)};
  });
}

/// A place among the outputs: vector h of a stream's panels, whose first one is output `output` of a row of y.
struct OutputPlace {
  int h;
  int64_t output;
  float* y;
  int64_t ldy;
};

/// `tiles` row tiles from row `row`, in groups of up to kGroupTiles.
template <DType T>
OCTAVO_KERNEL_PART void row_groups(const WeightStream& s, const PackedMatrix& w, const ActivationRows& a,
                                   const OutputPlace& out, int64_t row, int64_t tiles) {
  const PanelScales<T, 1> scales(s, w.cols, out.h);
  const int64_t groups = (tiles + kGroupTiles - 1) / kGroupTiles;
  for (int64_t group = 0; group < groups; ++group, row += kGroupTiles * kTileRows) {
    const int in_group = (int)(tiles - group * kGroupTiles < kGroupTiles ? tiles - group * kGroupTiles : kGroupTiles);
    WordSums sums[kGroupTiles * kTileRows];
    const NextPanels ahead(s, out.h * groups + group, kPasses * groups, w.cols / kActBlock);
    dot_group<T>(s.panel, ahead, scales.of_block, w.cols, out.h, a.tiles + (size_t)row * act_row_bytes(a.cols),
                 kTileRows * act_row_bytes(a.cols), in_group, sums);
    for (int r = 0; r < in_group * kTileRows; ++r)
      store_outputs(sums[r].rest, w, out.output, out.y + (row + r) * out.ldy);
  }
}

}  // namespace
}  // namespace octavo
