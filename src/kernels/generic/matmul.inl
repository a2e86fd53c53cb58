// Matrix times rows of activations: tiles of kLanes outputs by up to kTileRows rows, K in ascending order.
#pragma once

#include "kernels/generic/weights.inl"
#include "kernels/kernels.h"

namespace octavo {
namespace {

/// One row of activations, as the inner loops read it.
struct ActRow {
  const float* x;
  const int8_t* q;
  const float* scale;
  const float* sum32;
  const float* sum16;
  const int32_t* bias;
};

inline ActRow act_row(const ActivationRows& a, int64_t row) {
  return {a.x + row * a.cols,
          a.q + row * a.cols,
          a.scale + row * (a.cols / 32),
          a.sum32 + row * (a.cols / 32),
          a.sum16 + row * (a.cols / 16),
          a.bias + row * (a.cols / 32)};
}

template <bool Wide>
inline I32 dot_quads(I32 sum, const U8* q, const int8_t* a, int num_quads) {
  for (int j = 0; j < num_quads; ++j) {
    const U8 activations = u8_broadcast4(a + 4 * j);
    sum = Wide ? dot_wide(sum, q[j], activations) : dot_small(sum, q[j], activations);
  }
  return sum;
}

/// acc[r] += the 32 weights of group g of a block times row r's activations k .. k + 31.
template <DType T, int R>
inline void add_group(const U8 (&q)[8], const F32* scale, const F32* offset, int g, int64_t k, const ActRow (&x)[R],
                      F32 (&acc)[R]) {
  using W = Weights<T>;
  constexpr int kParts = 32 / W::kGroup;  // scale groups within the 32
  for (int part = 0; part < kParts; ++part) {
    const int s = scale_groups<T>() == 1 ? 0 : g * kParts + part;
    for (int r = 0; r < R; ++r) {
      const I32 start = W::kWide ? i32_set(x[r].bias[k / 32]) : i32_zero();
      const I32 dot = dot_quads<W::kWide>(start, q + part * (8 / kParts), x[r].q + k + part * W::kGroup, 8 / kParts);
      const F32 d = f32_mul(scale[s], f32_set(x[r].scale[k / 32]));
      acc[r] = f32_fma(i32_to_f32(dot), d, acc[r]);
      if constexpr (W::kHasOffset) {
        const float sum = kParts == 1 ? x[r].sum32[k / 32] : x[r].sum16[k / 16 + part];
        acc[r] = f32_fma(offset[s], f32_set(sum), acc[r]);
      }
    }
  }
}

// With few rows the weights come from memory, once: each line is asked for this far ahead, which no hardware prefetcher
// does across pages.
inline constexpr int kStreamingRows = 2;
inline constexpr int kPrefetchBytes = 3072;

/// Asks for share `part` of `parts` of a unit's lines.
template <DType T>
inline void prefetch_share(const uint8_t* unit, int part, int parts) {
  constexpr PackedBlock kB = packed_block(T);
  constexpr int kLines = unit_blocks(T) * (kB.quad_bytes + kB.scale_bytes) / 64;
  const uint8_t* from = unit + kPrefetchBytes + part * kLines / parts * 64;
  for (int line = 0; line < (kLines + parts - 1) / parts; ++line) prefetch(from + line * 64);
}

template <DType T, int R>
inline void dot_tile(const uint8_t* panel, int64_t cols, int h, const ActRow (&x)[R], F32 (&acc)[R]) {
  constexpr PackedBlock kB = packed_block(T);
  constexpr int kUnit = unit_blocks(T), kGroups = kB.block / 32;
  const uint8_t* unit = panel;
  for (int64_t k = 0; k < cols; k += kUnit * kB.block) {
    const int64_t left = (cols - k) / kB.block;
    const int blocks = left < kUnit ? (int)left : kUnit;
    const uint8_t* scales = unit + blocks * kB.quad_bytes;
    for (int b = 0; b < blocks; ++b) {
      F32 scale[scale_groups<T>()], offset[scale_groups<T>()];
      Weights<T>::scales(scales + b * kB.scale_bytes, h, scale, offset);
      for (int g = 0; g < kGroups; ++g) {
        U8 q[8];
        Weights<T>::quads(unit + b * kB.quad_bytes + h * kRowBytes, g, q);
        if constexpr (R <= kStreamingRows) prefetch_share<T>(unit, b * kGroups + g, kUnit * kGroups);
        add_group<T, R>(q, scale, offset, g, k + b * kB.block + g * 32, x, acc);
      }
    }
    unit += kUnit * (kB.quad_bytes + kB.scale_bytes);
  }
}

template <DType T>
inline F32 load_plain(const uint8_t* p, int64_t element) {
  if constexpr (T == DType::kF32) return f32_load((const float*)p + element);
  if constexpr (T == DType::kF16) return f32_load_f16((const uint16_t*)p + element);
  if constexpr (T == DType::kBF16) return f32_load_bf16((const uint16_t*)p + element);
}

template <DType T, int R>
inline void dot_tile_plain(const uint8_t* panel, int64_t cols, int h, const ActRow (&x)[R], F32 (&acc)[R]) {
  for (int64_t k = 0; k < cols; ++k) {
    const F32 w = load_plain<T>(panel, k * kPanelRows + h * kLanes);
    for (int r = 0; r < R; ++r) acc[r] = f32_fma(w, f32_set(x[r].x[k]), acc[r]);
  }
}

/// Rows row .. row + R of y for kLanes outputs from `output`.
template <DType T, int R>
inline void tile(const uint8_t* panel, const PackedMatrix& w, const ActivationRows& a, int h, int64_t output,
                 int64_t row, float* y, int64_t ldy) {
  ActRow x[R];
  F32 acc[R];
  for (int r = 0; r < R; ++r) {
    x[r] = act_row(a, row + r);
    acc[r] = f32_zero();
  }
  if constexpr (is_plain_float(T)) {
    dot_tile_plain<T, R>(panel, w.cols, h, x, acc);
  } else {
    dot_tile<T, R>(panel, w.cols, h, x, acc);
  }
  const int64_t left = w.rows - output;
  for (int r = 0; r < R; ++r) {
    float* out = y + (row + r) * ldy + output;
    if (left >= kLanes) {
      f32_store(out, acc[r]);
    } else {
      f32_store_n(out, acc[r], (int)left);
    }
  }
}

template <DType T>
void matmul(const PackedMatrix& w, const ActivationRows& a, int64_t panel_begin, int64_t panel_end, int64_t row_begin,
            int64_t row_end, float* y, int64_t ldy) {
  const size_t stride = panel_bytes(T, w.cols);
  for (int64_t p = panel_begin; p < panel_end; ++p) {
    const uint8_t* panel = w.data + (size_t)p * stride;
    for (int h = 0; h < kPanelRows / kLanes; ++h) {
      const int64_t output = p * kPanelRows + h * kLanes;
      if (output >= w.rows) break;
      int64_t row = row_begin;
      for (; row + kTileRows <= row_end; row += kTileRows) tile<T, kTileRows>(panel, w, a, h, output, row, y, ldy);
      if constexpr (kTileRows > 4) {
        for (; row + 4 <= row_end; row += 4) tile<T, 4>(panel, w, a, h, output, row, y, ldy);
      }
      for (; row + 2 <= row_end; row += 2) tile<T, 2>(panel, w, a, h, output, row, y, ldy);
      for (; row < row_end; ++row) tile<T, 1>(panel, w, a, h, output, row, y, ldy);
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
  constexpr int kGroups = scale_groups<T>();
  constexpr int kPerScale = packed_block(T).block / kGroups;
  F32 scale[kGroups], offset[kGroups];
  W::scales(scales, h, scale, offset);
  for (int g = 0; g < packed_block(T).block / 32; ++g) {
    U8 q[8];
    W::quads(quads, g, q);
    const uint8_t* bytes = (const uint8_t*)q + lane * kQuad;
    for (int i = 0; i < 32; ++i) {
      const int s = (g * 32 + i) / kPerScale;
      const float d = lane_of(scale[s], lane);
      const float byte = (float)bytes[i / kQuad * kRowBytes + i % kQuad];
      y[g * 32 + i] = W::kWide ? d * (byte - 128.0F) : d * byte + lane_of(offset[s], lane);
    }
  }
}

/// Decodes one row: its panel neighbours are decoded with it and dropped.
template <DType T>
void decode_row(const PackedMatrix& w, int64_t row, float* y) {
  constexpr PackedBlock kB = packed_block(T);
  const uint8_t* panel = w.data + (size_t)(row / kPanelRows) * panel_bytes(T, w.cols);
  const int lane = (int)(row % kPanelRows) % kLanes, h = (int)(row % kPanelRows) / kLanes;
  if constexpr (is_plain_float(T)) {
    for (int64_t k = 0; k < w.cols; ++k) y[k] = lane_of(load_plain<T>(panel, k * kPanelRows + h * kLanes), lane);
  } else {
    for (int64_t b = 0; b < w.cols / kB.block; ++b) {
      const BlockPlace place = place_of_block(T, w.cols / kB.block, b);
      decode_block<T>(panel + place.quads + h * kRowBytes, panel + place.scales, h, lane, y + b * kB.block);
    }
  }
}

}  // namespace
}  // namespace octavo
