// Products of float weights with rows of floats: each output is one chain of multiply-adds, in ascending order of K.
//
// A block is one warp, which has two panels, with one lane for each output, and N rows. A card has so many outputs that
// it always has other work while a chain waits for itself.
#pragma once

#include "gpu/kernels/product_arguments.h"
#include "gpu/simt.h"

namespace octavo::gpu {

template <DType T, int N>
struct FloatsWarp {
  static constexpr int kElementBytes = packed_block(T).scale_bytes / kPanelRows;
  static constexpr int kSliceBytes = kFloatCols * kPanelRows * kElementBytes;  // bytes of one panel
  static constexpr int kStageBytes = kFloatPanels * kSliceBytes;

  const ProductOfFloats& m;
  const int side = simt::lane() / kPanelRows, of_panel = simt::lane() % kPanelRows;
  const int first_panel = simt::block_x() * kFloatPanels, first_row;

  OCTAVO_GPU_DEVICE FloatsWarp(const ProductOfFloats& argument, int row) : m(argument), first_row(row) {}

  OCTAVO_GPU_DEVICE void run() const {
    float acc[N];
    OCTAVO_GPU_UNROLL
    for (int r = 0; r < N; ++r) acc[r] = 0;
    const int slices = (int)((m.cols + kFloatCols - 1) / kFloatCols);
    for (int s = 0; s < kFloatStages - 1; ++s) fetch(s, slices);
    for (int slice = 0; slice < slices; ++slice) {
      simt::wait_copies<kFloatStages - 2>();
      simt::sync_warp();  // all lanes have copied, and are done with the slice before this
      fetch(slice + kFloatStages - 1, slices);
      const int64_t first = (int64_t)slice * kFloatCols;
      const uint8_t* const weights = simt::shared() + slice % kFloatStages * kStageBytes + side * kSliceBytes;
      multiply(weights, first, (int)(m.cols - first < kFloatCols ? m.cols - first : kFloatCols), acc);
    }
    store(acc);
  }

 private:
  /// Begins to copy a slice. A panel that does not exist is replaced by the last one, whose results are then not used.
  OCTAVO_GPU_DEVICE void fetch(int slice, int slices) const {
    if (slice < slices) {
      const int64_t first = (int64_t)slice * kFloatCols * kPanelRows * kElementBytes;
      const int64_t left = m.cols * kPanelRows * kElementBytes - first;
      const int bytes = left < kSliceBytes ? (int)left : kSliceBytes;
      const int last = (int)((m.outputs + kPanelRows - 1) / kPanelRows) - 1;
      for (int p = 0; p < kFloatPanels; ++p) {
        const int panel = first_panel + p < last ? first_panel + p : last;
        uint8_t* const to = simt::shared() + slice % kFloatStages * kStageBytes + p * kSliceBytes;
        const uint8_t* const from = m.panels + (size_t)panel * panel_bytes(T, m.cols) + first;
        for (int i = 16 * simt::lane(); i < bytes; i += 16 * simt::kWarp) simt::copy16(to + i, from + i);
      }
    }
    simt::commit();
  }
  OCTAVO_GPU_DEVICE float weight(const uint8_t* weights, int k) const {
    const int i = k * kPanelRows + of_panel;
    if constexpr (T == DType::kF32) return ((const float*)weights)[i];
    if constexpr (T == DType::kF16) return simt::half_to_float(((const uint16_t*)weights)[i]);
    if constexpr (T == DType::kBF16) return simt::bf16_to_float(((const uint16_t*)weights)[i]);
  }
  OCTAVO_GPU_DEVICE void multiply(const uint8_t* weights, int64_t first, int cols, float (&acc)[N]) const {
    OCTAVO_GPU_KEEP_LOOP
    for (int k = 0; k < cols; k += 8) {
      float w[8];
      OCTAVO_GPU_UNROLL
      for (int i = 0; i < 8; ++i) w[i] = weight(weights, k + i);
      OCTAVO_GPU_UNROLL
      for (int r = 0; r < N; ++r) {
        const int row = first_row + r < m.rows ? first_row + r : m.rows - 1;
        const float* const x = m.x + row * m.stride + first + k;
        const simt::Floats4 low = simt::load16f(x), high = simt::load16f(x + 4);
        OCTAVO_GPU_UNROLL
        for (int i = 0; i < 8; ++i) acc[r] = simt::fma(w[i], i < 4 ? low.v[i] : high.v[i - 4], acc[r]);
      }
    }
  }
  OCTAVO_GPU_DEVICE void store(const float (&acc)[N]) const {
    const int64_t output = (int64_t)(first_panel + side) * kPanelRows + of_panel;
    if (output >= m.outputs) return;
    OCTAVO_GPU_UNROLL
    for (int r = 0; r < N; ++r)
      if (first_row + r < m.rows) m.y[(first_row + r) * m.ldy + output] = acc[r];
  }
};

}  // namespace octavo::gpu
