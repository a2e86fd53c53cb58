// Several row tiles times the vectors of one panel: weights are unpacked once for all of them.
//
// A run of 256 weights of each output becomes bytes and scales in 4 to 8 KiB, which stay in the first-level cache while
// the row tiles meet them, one after another. Their sums wait in memory from run to run, as floats, which changes no
// bit.
#pragma once

#include "kernels/generic/matmul_tile.inl"

namespace octavo {
namespace {

inline constexpr int kGroupTiles = 16;  // the most row tiles for which weights are unpacked once

/// The unpacked 32 weights of each of V vectors of outputs.
template <DType T, int V>
struct UnpackedQuads {
  Operand<T> of[8][V];

  template <int J>
  const Operand<T>& quad(int v) const {
    return of[J][v];
  }
};

/// The unpacked consecutive K blocks of V vectors of outputs.
template <DType T, int V>
struct UnpackedRun {
  static constexpr int kWeights = 256, kActBlocks = packed_block(T).block / kActBlock;
  static constexpr int kMostBlocks = kWeights / packed_block(T).block;
  UnpackedQuads<T, V> quads[kWeights / kActBlock];
  BlockScales<T> scales[kMostBlocks][V];
  const uint8_t* scale_bytes[kMostBlocks];
  int blocks;

  /// Unpacks the blocks of the stream's panel from number `first` of `num_blocks` on, for vectors from h on.
  OCTAVO_KERNEL_PART void unpack(const WeightStream& stream, int64_t first, int64_t num_blocks, int h) {
    blocks = num_blocks - first < kMostBlocks ? (int)(num_blocks - first) : kMostBlocks;
    for (int b = 0; b < blocks; ++b) {
      const BlockPlace place = place_of_block(T, num_blocks, first + b);
      scale_bytes[b] = stream.panel + place.scales;
      decode_scales<T, V>(stream, scale_bytes[b], h, scales[b]);
      const auto packed = packed_quads<T>(stream, stream.panel + place.quads, h);
      for (int g = 0; g < kActBlocks; ++g)
        for_constants<8>([&]<int J>() __attribute__((always_inline)) {
          for (int v = 0; v < V; ++v) quads[b * kActBlocks + g].of[J][v] = packed(g).template quad<J>(v);
        });
    }
  }
};

/// Computes acc[t] = kLanes outputs of vectors from h on times the rows of row tile t of `tiles`; the first tile is at
/// `first`, each next one tile_bytes after it. Meanwhile it asks for the next panels.
template <DType T, int V>
OCTAVO_KERNEL_PART NextPanels dot_group(const WeightStream& stream, NextPanels ahead, int64_t cols, int h,
                                        const uint8_t* first, size_t tile_bytes, int tiles, F32 (*acc)[V][kTileRows]) {
  constexpr int R = kTileRows;
  using Run = UnpackedRun<T, V>;
  const int64_t num_blocks = cols / packed_block(T).block;
  for (int64_t b = 0; b < num_blocks; b += Run::kMostBlocks) {
    Run run;
    run.unpack(stream, b, num_blocks, h);
    for (int t = 0; t < tiles; ++t) {
      const auto* x = (const ActTile<R>*)(first + (size_t)t * tile_bytes);
      F32 sum[V][R];
      __builtin_memcpy(sum, acc[t], sizeof sum);
      for (int i = 0; i < run.blocks; ++i) {
        const auto quads_of = [&](int g) __attribute__((always_inline)) -> const UnpackedQuads<T, V>& {
          return run.quads[i * Run::kActBlocks + g];
        };
        const auto ask = [&](int) __attribute__((always_inline)) { ahead.read(); };
        add_block<T, V, R, R>(stream, quads_of, run.scale_bytes[i], run.scales[i], h, x, 0, sum, ask);
      }
      __builtin_memcpy(acc[t], sum, sizeof sum);
    }
    first += Run::kWeights / kActBlock * sizeof(ActTile<R>);
  }
  return ahead;
}

/// Computes `tiles` row tiles of kTileRows rows from row `row`, in groups of about equal size.
template <DType T>
OCTAVO_KERNEL_PART void row_groups(const WeightStream& s, const PackedMatrix& w, const ActivationRows& a,
                                   const OutputPlace& out, int64_t row, int64_t tiles) {
  constexpr int V = vectors_at_once<T>(), R = kTileRows;
  NextPanels ahead(s, out.h, panel_passes<T>(), tiles * (w.cols / kActBlock));
  for (int in_group; tiles > 0; tiles -= in_group, row += in_group * R) {
    const int64_t groups = (tiles + kGroupTiles - 1) / kGroupTiles;
    in_group = (int)((tiles + groups - 1) / groups);
    F32 acc[kGroupTiles][V][R];
    for (int t = 0; t < in_group; ++t)
      for (int v = 0; v < V; ++v)
        for (int r = 0; r < R; ++r) acc[t][v][r] = f32_zero();
    ahead = dot_group<T, V>(s, ahead, w.cols, out.h, a.tiles + (size_t)row * act_row_bytes(a.cols),
                            R * act_row_bytes(a.cols), in_group, acc);
    for (int t = 0; t < in_group; ++t) store_tile<T, V, R>(s, w, out, row + t * R, acc[t]);
  }
}

}  // namespace
}  // namespace octavo
