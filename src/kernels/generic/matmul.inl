// Matrix times rows of activations: kLanes outputs by a row tile of up to kTileRows rows, K in ascending order.
//
// The parts of a kernel are inlined by name (OCTAVO_KERNEL_PART of the level). The compiler, which has a budget for a
// whole unit, would make calls of some, and their sums would go through memory.
#pragma once

#include "kernels/generic/block_scales.inl"
#include "kernels/generic/matmul_low_bit.inl"
#include "kernels/generic/matmul_word_scales.inl"
#include "kernels/kernels.h"

namespace octavo {
namespace {

/// The start of the sums of products of sub-block `part` of an activation block: weights are bytes less kZero.
template <DType T, int R>
inline I32 first_sum(const ActTile<R>& x, int part, int r) {
  using W = Weights<T>;
  if constexpr (has_integer_scales(T)) {
    return i32_set(x.sum_pair[r]);
  } else {
    constexpr int kOffset = W::kWide ? kWideBias : W::kZero;
    if constexpr (kOffset == 0) return i32_zero();
    constexpr int kShift = __builtin_ctz(kOffset == 0 ? 1 : kOffset);
    static_assert(kOffset == 0 || kOffset == 1 << kShift);
    return i32_shl<kShift>(i32_set(W::kSubBlock == 32 ? x.minus_sum32[r] : x.minus_sum16[part][r]));
  }
}

/// dot[r] = the weights q times row r, over one sub-block. Rows are in the inner loop: their sums are independent of
/// each other, and a sum waits for its own last product.
template <DType T, int R>
OCTAVO_KERNEL_PART void dot_sub_block(const U8* q, const ActTile<R>& x, int part, I32 (&dot)[R]) {
  using W = Weights<T>;
  constexpr int kQuads = W::kSubBlock / kQuad;
  const int first = part * W::kSubBlock;
  for (int r = 0; r < R; ++r) dot[r] = first_sum<T, R>(x, part, r);
  if constexpr (W::kWide) {
    for (int j = 0; j < kQuads; ++j)
      for (int r = 0; r < R; ++r)
        dot[r] = keep_chain<R>(dot_wide(dot[r], q[j], u8_broadcast4(&x.q[r][first + j * kQuad])));
  } else {
    constexpr int kQuadsAtOnce = small_sum_quads(W::kMaxByte) < kQuads ? small_sum_quads(W::kMaxByte) : kQuads;
    for (int j = 0; j < kQuads; j += kQuadsAtOnce) {
      SmallSum sum[R];
      for (int r = 0; r < R; ++r) sum[r] = small_sum_of(dot[r]);
      for (int i = j; i < j + kQuadsAtOnce; ++i)
        for (int r = 0; r < R; ++r)
          sum[r] = keep_chain<R>(add_products(sum[r], q[i], u8_broadcast4(&x.q[r][first + i * kQuad])));
      for (int r = 0; r < R; ++r) dot[r] = small_sum_end(sum[r], dot[r]);
    }
  }
}

/// acc[r] += the 32 weights that meet activation block g times row r's activations. If its halves are sub-blocks, they
/// are added up before the scale of the activations, common to both, comes in.
template <DType T, int R>
OCTAVO_KERNEL_PART void add_act_block(const U8 (&q)[8], const F32* scale, const F32* minimum, int g,
                                      const ActTile<R>& x, F32 (&acc)[R]) {
  using W = Weights<T>;
  constexpr int kParts = 32 / W::kSubBlock;  // sub-blocks of the 32
  F32 sum[R];
  for (int r = 0; r < R; ++r) sum[r] = f32_zero();  // GCC 12 for 64-bit ARM reads it before the first part sets it
#pragma GCC unroll 2
  for (int part = 0; part < kParts; ++part) {
    const int s = sub_blocks<T>() == 1 ? 0 : g * kParts + part;
    I32 dot[R];
    dot_sub_block<T, R>(q + part * (8 / kParts), x, part, dot);
    for (int r = 0; r < R; ++r) {
      if constexpr (kParts == 1) {
        acc[r] = f32_fma(i32_to_f32(dot[r]), f32_mul(scale[s], f32_set(x.scale[r])), acc[r]);
      } else {
        const F32 v = i32_to_f32(dot[r]);
        sum[r] = part == 0 ? f32_mul(v, scale[s]) : f32_fma(v, scale[s], sum[r]);
        if (part == kParts - 1) acc[r] = f32_fma(sum[r], f32_set(x.scale[r]), acc[r]);
      }
      if constexpr (W::kHasMin)
        acc[r] = f32_fma(minimum[s], f32_set(kParts == 1 ? x.sum32[r] : x.sum16[part][r]), acc[r]);
    }
  }
}

/// acc[r] += the 32 weights of a block times row r's activations, in units of the weights' row. The sum of products of
/// q - 8 and the sum of the activations are one pair of integers, the block's scales another.
template <DType T, int R>
OCTAVO_KERNEL_PART void add_pairs(const U8 (&q)[8], I16 scales, const ActTile<R>& x, F32 (&acc)[R]) {
  I32 dot[R];
  dot_sub_block<T, R>(q, x, 0, dot);
  for (int r = 0; r < R; ++r)
    acc[r] = f32_fma(i32_to_f32(dot_pairs(i32_zero(), i16_pair_of(dot[r]), scales)), f32_set(x.scale[r]), acc[r]);
}

/// Asks for portion `part` of `parts` of the lines ahead of the unit at byte `offset` of the panel.
template <DType T, int R>
inline void prefetch_portion(const WeightStream& stream, size_t offset, int h, int part, int parts) {
  constexpr PackedBlock kB = packed_block(T);
  constexpr int kLines = (unit_blocks(T) * (kB.quad_bytes + kB.scale_bytes) / 64 + kPasses - 1) / kPasses;
  constexpr PrefetchLead kLead = prefetch_lead<T, R>();
  const uint8_t* from = stream.ahead(offset, h, kLead.bytes) + part * kLines / parts * 64;
  for (int line = 0; line < (kLines + parts - 1) / parts; ++line) {
    if constexpr (kLead.far) prefetch_far(from + line * 64);
    if constexpr (!kLead.far) prefetch(from + line * 64);
  }
}

/// acc[r] = kLanes outputs of half h of a panel, times row r.
template <DType T, int R, class Stream>
OCTAVO_KERNEL_PART void dot_tile(Stream stream, int64_t cols, int h, const ActTile<R>* x, F32 (&acc)[R]) {
  constexpr PackedBlock kB = packed_block(T);
  constexpr int kUnit = unit_blocks(T), kActBlocks = kB.block / kActBlock;
  for_blocks<T>(stream.panel, cols, [&](const uint8_t* unit, int b, const uint8_t* quads, const uint8_t* scales) {
    BlockScales<T> own;
    const BlockScales<T>* block = &own;
    if constexpr (Stream::kDecoded) {
      block = stream.scales++;
    } else {
      own.decode(scales, h);
    }
    WordSums sums[R];
    if constexpr (has_word_scales(T))
      for (int r = 0; r < R; ++r) sums[r] = {f32_zero(), acc[r]};
    for (int g = 0; g < kActBlocks; ++g) {
      U8 q[8];
      Weights<T>::quads(quads + h * kRowBytes, g, q);
      if constexpr (Stream::kShared)
        stream.read((kB.quad_bytes + kB.scale_bytes) / kActBlocks);
      else
        prefetch_portion<T, R>(stream, (size_t)(unit - stream.panel), h, b * kActBlocks + g, kUnit * kActBlocks);
      if constexpr (has_integer_scales(T)) {
        add_pairs<T, R>(q, Weights<T>::pairs(scales, h), *x++, acc);
      } else if constexpr (has_word_scales(T)) {
        add_word_block<T, R>(q, *block, g, *x++, sums);
      } else {
        add_act_block<T, R>(q, block->scale, block->minimum, g, *x++, acc);
      }
    }
    if constexpr (has_word_scales(T))
      for (int r = 0; r < R; ++r) acc[r] = f32_fma(sums[r].scaled, block->d, sums[r].rest);
  });
}

template <DType T>
inline F32 load_plain(const uint8_t* p, int64_t element) {
  if constexpr (T == DType::kF32) return f32_load((const float*)p + element);
  if constexpr (T == DType::kF16) return f32_load_f16((const uint16_t*)p + element);
  if constexpr (T == DType::kBF16) return f32_load_bf16((const uint16_t*)p + element);
}

template <DType T, int R, bool Prefetch>
OCTAVO_KERNEL_PART void dot_tile_plain(const WeightStream& stream, int64_t cols, int h, const float* x, F32 (&acc)[R]) {
  constexpr int kColumnBytes = packed_block(T).scale_bytes, kColumnsAtOnce = 64 / kColumnBytes * kPasses;
  for (int64_t k = 0; k < cols; ++k) {
    const F32 w = load_plain<T>(stream.panel, k * kPanelRows + h * kLanes);
    if (Prefetch && k % kColumnsAtOnce == 0) prefetch(stream.ahead((size_t)k * kColumnBytes, h));
    for (int r = 0; r < R; ++r) acc[r] = f32_fma(w, f32_set(x[r * cols + k]), acc[r]);
  }
}

/// Rows row .. row + R of y for vector h of a panel's outputs. Always inlined: as a function of its own GCC 12 keeps a
/// part of its addresses on the stack, and 32 rows of Q8_0 take 1.15 times as long.
template <DType T, int R, bool Prefetch, class Stream>
OCTAVO_KERNEL_PART void tile(const Stream& stream, const PackedMatrix& w, const ActivationRows& a, int h,
                             int64_t output, int64_t row, float* y, int64_t ldy) {
  F32 acc[R];
#pragma GCC unroll 8
  for (int r = 0; r < R; ++r) acc[r] = f32_zero();
  if constexpr (is_plain_float(T)) {
    dot_tile_plain<T, R, Prefetch>(stream, w.cols, h, a.x + row * a.cols, acc);
  } else {
    const auto* x = (const ActTile<R>*)(a.tiles + (size_t)row * act_row_bytes(a.cols));
    if constexpr (is_low_bit(T)) {
      dot_tile_low_bit<T, R, Prefetch>(stream, w.cols, h, x, acc);
    } else {
      dot_tile<T, R>(stream, w.cols, h, x, acc);
    }
  }
  if constexpr (has_integer_scales(T)) {
    const F32 unit = f32_load((const float*)(stream.panel + place_of_units(T, w.cols)) + h * kLanes);
    for (int r = 0; r < R; ++r) acc[r] = f32_mul(acc[r], unit);
  }
  if constexpr (T == DType::kNVFP4)
    for (int r = 0; r < R; ++r) acc[r] = f32_mul(acc[r], f32_set(w.scale));
  for (int r = 0; r < R; ++r) store_outputs(acc[r], w, output, y + (row + r) * ldy);
}

/// `tiles` row tiles of kTileRows rows from row `row`. One alone reads ahead in its stream; several share that.
template <DType T>
OCTAVO_KERNEL_PART void whole_tiles(const WeightStream& s, const PackedMatrix& w, const ActivationRows& a, int h,
                                    int64_t output, int64_t row, int64_t tiles, float* y, int64_t ldy) {
  const int64_t row_end = row + tiles * kTileRows;
  int64_t pass = h * tiles;  // of kPasses * tiles over the panel
  if constexpr (is_plain_float(T) || is_low_bit(T)) {
    tile<T, kTileRows, true>(s, w, a, h, output, row, y, ldy);
    while ((row += kTileRows) < row_end) tile<T, kTileRows, false>(s, w, a, h, output, row, y, ldy);
  } else if constexpr (decodes_scales_once<T>()) {
    if (tiles > 1 && w.cols <= PanelScales<T>::kMostCols) {
      if constexpr (has_word_scales(T)) {
        return row_groups<T>(s, w, a, h, output, row, tiles, y, ldy);
      } else {
        const PanelScales<T> scales(s.panel, w.cols, h);
        for (; row < row_end; row += kTileRows)
          tile<T, kTileRows, true>(DecodedStream<T>(SharedStream(s, pass++, kPasses * tiles), scales.of_block), w, a, h,
                                   output, row, y, ldy);
      }
    }
    for (; row < row_end; row += kTileRows) tile<T, kTileRows, true>(s, w, a, h, output, row, y, ldy);
  } else if (tiles == 1) {
    tile<T, kTileRows, true>(s, w, a, h, output, row, y, ldy);
  } else {
    for (; row < row_end; row += kTileRows)
      tile<T, kTileRows, true>(SharedStream(s, pass++, kPasses * tiles), w, a, h, output, row, y, ldy);
  }
}

/// The same as a function of its own, for types whose loops are long. Beside the loops of fewer rows GCC 12 would keep
/// sums of TQ1_0, and addresses of K-quants, in memory.
template <DType T>
__attribute__((noinline)) void whole_tiles_apart(const WeightStream& s, const PackedMatrix& w, const ActivationRows& a,
                                                 int h, int64_t output, int64_t row, int64_t tiles, float* y,
                                                 int64_t ldy) {
  whole_tiles<T>(s, w, a, h, output, row, tiles, y, ldy);
}

/// The row tiles over vector h of a panel's outputs, largest first, as act_tiles.h cuts rows.
template <DType T>
OCTAVO_KERNEL_PART void panel_pass(const WeightStream& s, const PackedMatrix& w, const ActivationRows& a, int h,
                                   int64_t output, int64_t row, int64_t row_end, float* y, int64_t ldy) {
  if (const int64_t tiles = (row_end - row) / kTileRows; tiles > 0) {
    if constexpr (is_low_bit(T) || decodes_scales_once<T>()) {
      whole_tiles_apart<T>(s, w, a, h, output, row, tiles, y, ldy);
    } else {
      whole_tiles<T>(s, w, a, h, output, row, tiles, y, ldy);
    }
    row += tiles * kTileRows;
  }
  if constexpr (kTileRows > 4) {
    if (row + 4 <= row_end) {
      tile<T, 4, true>(s, w, a, h, output, row, y, ldy);
      row += 4;
    }
  }
  if (row + 2 <= row_end) {
    tile<T, 2, true>(s, w, a, h, output, row, y, ldy);
    row += 2;
  }
  if (row < row_end) tile<T, 1, true>(s, w, a, h, output, row, y, ldy);
}

template <DType T>
void matmul(const PackedMatrix& w, const ActivationRows& a, int64_t panel_begin, int64_t panel_end, int64_t row_begin,
            int64_t row_end, float* y, int64_t ldy) {
  const size_t stride = panel_bytes(T, w.cols);
  for (int64_t p = panel_begin; p < panel_end; ++p) {
    const WeightStream stream{w.data + (size_t)p * stride, stride};
    for (int h = 0; h < kPasses; ++h) {
      const int64_t output = p * kPanelRows + h * kLanes;
      if (output < w.rows) panel_pass<T>(stream, w, a, h, output, row_begin, row_end, y, ldy);
    }
  }
}

inline float lane_of(F32 v, int lane) {
  float lanes[kLanes];
  f32_store(lanes, v);
  return lanes[lane];
}

/// Weights of row `lane` of half h, one block of K, into y.
template <DType T>
inline void decode_block(const uint8_t* quads, const uint8_t* scales, int h, int lane, float* y) {
  using W = Weights<T>;
  constexpr int kSubBlocks = sub_blocks<T>();
  constexpr int kPerScale = packed_block(T).block / kSubBlocks;
  F32 scale[kSubBlocks], minimum[kSubBlocks];
  W::scales(scales, h, scale, minimum);
  for (int g = 0; g < packed_block(T).block / 32; ++g) {
    U8 q[8];
    W::quads(quads, g, q);
    const uint8_t* bytes = (const uint8_t*)q + lane * kQuad;
    for (int i = 0; i < 32; ++i) {
      const int s = (g * 32 + i) / kPerScale;
      const float d = lane_of(scale[s], lane);
      const float byte = (float)bytes[i / kQuad * kRowBytes + i % kQuad];
      y[g * 32 + i] = W::kHasMin ? d * byte + lane_of(minimum[s], lane) : d * (byte - (W::kWide ? 128.0F : W::kZero));
    }
  }
}

/// The same where scales are integers in units of the row.
template <DType T>
inline void decode_integer_block(const uint8_t* quads, const uint8_t* scales, int h, int lane, float unit, float* y) {
  int16_t pair[2];
  __builtin_memcpy(pair, scales + (h * kLanes + lane) * 4, 4);
  U8 q[8];
  Weights<T>::quads(quads, 0, q);
  const uint8_t* bytes = (const uint8_t*)q + lane * kQuad;
  for (int i = 0; i < 32; ++i)
    y[i] = unit * (float)(pair[0] * (bytes[i / kQuad * kRowBytes + i % kQuad] - 8) + 8 * pair[1]);
}

/// Decodes one row: its panel neighbours are decoded with it and dropped.
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
