// Matrix times rows of activations: how the rows of a call make tiles with the panels.
#pragma once

#include "kernels/generic/matmul_group.inl"
#include "kernels/generic/matmul_tile.inl"
#include "kernels/kernels.h"

namespace octavo {
namespace {

/// The number of panels that are met at once where several passes go over them. Low-bit weights need registers for
/// their fields, and sub-blocks of 16 weights for their sums; with floats the rate of memory is the limit anyway.
template <DType T>
constexpr int panels_at_once() {
  if constexpr (kPanelVectors > 1 || is_low_bit(T) || is_plain_float(T)) {
    return 1;
  } else {
    return Weights<T>::kSubBlock < kActBlock ? 1 : kTileVectors;
  }
}

/// Computes a row tile of R rows that is alone, panel by panel: memory is the limit, and gives most where a thread
/// reads one stream.
template <DType T, int R>
OCTAVO_KERNEL_PART void tile_of_each_panel(const WeightStream& s, const PackedMatrix& w, const ActivationRows& a,
                                           OutputPlace out, int64_t row) {
  for (int v = 0; v < s.panels; ++v, out.output += kPanelRows) tile<T, R, true>(s.panel_alone(v), w, a, out, row);
}

/// Computes `tiles` row tiles from row `row`, which share the passes over the panels. With several panels at once there
/// are registers for only a part of a row tile's rows.
template <DType T, bool Decoded, int V>
OCTAVO_KERNEL_PART void passes(const WeightStream& s, const BlockScales<T> (*decoded)[V], const PackedMatrix& w,
                               const ActivationRows& a, const OutputPlace& out, int64_t row, int64_t tiles) {
  constexpr int R = kTileRows, kPasses = panels_at_once<T>(), N = R / kPasses;
  const int64_t count = tiles * kPasses;
  NextPanels ahead(s, out.h, panel_passes<T>(), count * (w.cols / kActBlock));
  for (int64_t pass = 0; pass < count; ++pass) {
    const int64_t first = row + pass / kPasses * R;
    const int sub = (int)(pass % kPasses) * N;
    F32 acc[V][N];
    for (int v = 0; v < V; ++v)
#pragma GCC unroll 8
      for (int r = 0; r < N; ++r) acc[v][r] = f32_zero();
    const auto* x = (const ActTile<R>*)(a.tiles + (size_t)first * act_row_bytes(a.cols));
    ahead = dot_pass<T, Decoded, V, N, R>(s, ahead, decoded, w.cols, out.h, x, sub, acc);
    store_tile<T, V, N>(s, w, out, first + sub, acc);
  }
}

/// The number of row tiles from which on decoded scales of several panels are read often enough.
constexpr int64_t kMinTilesOfPairs = 4;

/// Does passes() with scales that are decoded once for all of them; panel by panel where there is no second panel,
/// where tiles are few, and where there is no room for more scales.
template <DType T, int V>
OCTAVO_KERNEL_PART void decoded_passes(const WeightStream& s, const PackedMatrix& w, const ActivationRows& a,
                                       OutputPlace out, int64_t row, int64_t tiles) {
  const bool together = V == 1 || (s.panels == V && tiles >= kMinTilesOfPairs);
  if (together && w.cols <= PanelScales<T, V>::kMostCols) {
    const PanelScales<T, V> scales(s, w.cols, out.h);
    return passes<T, true, V>(s, scales.of_block, w, a, out, row, tiles);
  }
  for (int v = 0; v < s.panels; ++v, out.output += kPanelRows) {
    if constexpr (V > 1) {
      decoded_passes<T, 1>(s.panel_alone(v), w, a, out, row, tiles);
    } else {
      passes<T, false, 1>(s, nullptr, w, a, out, row, tiles);
    }
  }
}

/// The number of row tiles from which on weights are unpacked for all of them into memory. A mask and a shift, all that
/// a byte needs in types with one plane and plain scales, are as cheap as the way through memory.
template <DType T>
constexpr int64_t min_group_tiles() {
  return T == DType::kQ4_0 || T == DType::kQ4_1 || T == DType::kQ8_0 ? 4 : 2;
}

/// Computes `tiles` row tiles of kTileRows rows from row `row`. One alone reads ahead; several share that.
template <DType T>
OCTAVO_KERNEL_PART void whole_tiles(const WeightStream& s, const PackedMatrix& w, const ActivationRows& a,
                                    const OutputPlace& out, int64_t row, int64_t tiles) {
  constexpr int V = vectors_at_once<T>() * panels_at_once<T>(), R = kTileRows;
  const int64_t row_end = row + tiles * R;
  if constexpr (is_low_bit(T) || is_plain_float(T)) {
    tile<T, R, true>(s, w, a, out, row);
    while ((row += R) < row_end) tile<T, R, false>(s, w, a, out, row);
  } else if (tiles == 1 || (s.panels < panels_at_once<T>() && !decodes_scales_once<T>())) {
    for (; row < row_end; row += R) tile_of_each_panel<T, R>(s, w, a, out, row);
  } else if constexpr (vectors_at_once<T>() > 1) {
    if (tiles >= min_group_tiles<T>()) {
      row_groups<T>(s, w, a, out, row, tiles);
    } else {
      passes<T, false, V>(s, nullptr, w, a, out, row, tiles);
    }
  } else if constexpr (decodes_scales_once<T>()) {
    decoded_passes<T, V>(s, w, a, out, row, tiles);
  } else {
    passes<T, false, V>(s, nullptr, w, a, out, row, tiles);
  }
}

/// Does whole_tiles() as a separate function, for types whose loops are long. Beside the loops of fewer rows GCC 12
/// would keep sums of TQ1_0, and addresses of K-quants, in memory.
template <DType T>
__attribute__((noinline)) void whole_tiles_apart(const WeightStream& s, const PackedMatrix& w, const ActivationRows& a,
                                                 const OutputPlace& out, int64_t row, int64_t tiles) {
  whole_tiles<T>(s, w, a, out, row, tiles);
}

/// Computes the row tiles over the vectors from h on of the outputs of a stream's panels, the largest tiles first, as
/// act_tiles.h cuts rows.
template <DType T>
OCTAVO_KERNEL_PART void panel_pass(const WeightStream& s, const PackedMatrix& w, const ActivationRows& a,
                                   const OutputPlace& out, int64_t row, int64_t row_end) {
  if (const int64_t tiles = (row_end - row) / kTileRows; tiles > 0) {
    if constexpr (is_low_bit(T) || decodes_scales_once<T>()) {
      whole_tiles_apart<T>(s, w, a, out, row, tiles);
    } else {
      whole_tiles<T>(s, w, a, out, row, tiles);
    }
    row += tiles * kTileRows;
  }
  if constexpr (kTileRows > kSmallTile) {
    if (row + kSmallTile <= row_end) {
      tile_of_each_panel<T, kSmallTile>(s, w, a, out, row);
      row += kSmallTile;
    }
  }
  if (row + 3 == row_end) tile_of_each_panel<T, 3>(s, w, a, out, row);
  if (row + 2 == row_end) tile_of_each_panel<T, 2>(s, w, a, out, row);
  if (row + 1 == row_end) tile_of_each_panel<T, 1>(s, w, a, out, row);
}

template <DType T>
void matmul(const PackedMatrix& w, const ActivationRows& a, int64_t panel_begin, int64_t panel_end, int64_t row_begin,
            int64_t row_end, float* y, int64_t ldy) {
  constexpr int kAtOnce = panels_at_once<T>();
  const size_t bytes = panel_bytes(T, w.cols);
  for (int64_t p = panel_begin; p < panel_end; p += kAtOnce) {
    const int panels = (int)(panel_end - p < kAtOnce ? panel_end - p : kAtOnce);
    const WeightStream stream{w.data + (size_t)p * bytes, bytes, panels};
    for (int h = 0; h < kPanelVectors; h += vectors_at_once<T>()) {
      const int64_t output = p * kPanelRows + h * kLanes;
      if (output < w.rows) panel_pass<T>(stream, w, a, {h, output, y, ldy}, row_begin, row_end);
    }
  }
}

inline float lane_of(F32 v, int lane) {
  float lanes[kLanes];
  f32_store(lanes, v);
  return lanes[lane];
}

/// Decodes the weights of row `lane` of half h, one block of K, into y.
template <DType T>
inline void decode_block(const uint8_t* quads, const uint8_t* scales, int h, int lane, float* y) {
  using W = Weights<T>;
  constexpr int kSubBlocks = sub_blocks<T>();
  constexpr int kPerScale = packed_block(T).block / kSubBlocks;
  F32 scale[kSubBlocks], minimum[kSubBlocks];
  W::scales(scales, h, scale, minimum);
  for (int g = 0; g < packed_block(T).block / 32; ++g) {
    U8 q[8];
    load_quads<T>(quads, g, q);
    const uint8_t* bytes = (const uint8_t*)q + lane * kQuad;
    for (int i = 0; i < 32; ++i) {
      const int s = (g * 32 + i) / kPerScale;
      const float d = lane_of(scale[s], lane);
      const float byte = (float)bytes[i / kQuad * kRowBytes + i % kQuad];
      y[g * 32 + i] = W::kHasMin ? d * byte + lane_of(minimum[s], lane) : d * (byte - (W::kWide ? 128.0F : W::kZero));
    }
  }
}

/// Does the same where scales are integers in units of the row.
template <DType T>
inline void decode_integer_block(const uint8_t* quads, const uint8_t* scales, int h, int lane, float unit, float* y) {
  int16_t pair[2];
  __builtin_memcpy(pair, scales + (h * kLanes + lane) * 4, 4);
  U8 q[8];
  load_quads<T>(quads, 0, q);
  const uint8_t* bytes = (const uint8_t*)q + lane * kQuad;
  for (int i = 0; i < 32; ++i)
    y[i] = unit * (float)(pair[0] * (bytes[i / kQuad * kRowBytes + i % kQuad] - 8) + 8 * pair[1]);
}

/// Decodes one row; the other rows of its panel vector are decoded with it and dropped.
template <DType T>
void decode_row(const PackedMatrix& w, int64_t row, float* y) {
  constexpr PackedBlock kB = packed_block(T);
  const uint8_t* panel = w.data + (size_t)(row / kPanelRows) * panel_bytes(T, w.cols);
  const int of_panel = (int)(row % kPanelRows), lane = of_panel % kLanes, h = of_panel / kLanes;
  if constexpr (is_plain_float(T)) {
    for (int64_t k = 0; k < w.cols; ++k) y[k] = lane_of(load_plain<T>(panel, k * kPanelRows + h * kLanes), lane);
  } else {
    for (int64_t b = 0; b < w.cols / kB.block; ++b) {
      const BlockPlace place = place_of_block(T, w.cols / kB.block, b);
      const uint8_t *quads = panel + place.quads, *scales = panel + place.scales;
      if constexpr (is_low_bit(T)) {
        decode_low_bit_block<T>(quads, scales, of_panel, y + b * kB.block);
      } else if constexpr (has_integer_scales(T)) {
        const float unit = ((const float*)(panel + place_of_units(T, w.cols)))[of_panel];
        decode_integer_block<T>(quads + h * kRowBytes, scales, h, lane, unit, y + b * kB.block);
      } else {
        decode_block<T>(quads + h * kRowBytes, scales, h, lane, y + b * kB.block);
      }
    }
    if constexpr (T == DType::kNVFP4)
      for (int64_t k = 0; k < w.cols; ++k) y[k] *= w.scale;
  }
}

}  // namespace
}  // namespace octavo
