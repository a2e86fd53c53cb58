// The arguments of kernels that multiply weights in the CPU's panels (kernels/packed_layout.h) with rows, and the
// shapes of their blocks. A plain header: kernels and the host include it.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "gpu/kernels/act_pair.h"
#include "gpu/kernels/limits.h"
#include "kernels/packed_layout.h"

namespace octavo::gpu {

/// The order of operations in products of K types: as on levels that multiply by float scales, or as on AVX2, where
/// integer scales multiply sums of integers and the block's float comes last (matmul_word_scales.inl). Other types have
/// one order.
enum class ScaleOrder : uint8_t { kFloatScales, kWordScales };

/// The columns in a slice of a panel: what a warp multiplies before it hands on its sums (products_of_rows.h), or what
/// a block for many rows loads at a time (products_of_tiles.h). The last slice of a panel may have fewer.
static inline constexpr int baton_cols(DType type) { return type == DType::kQ1_0 ? 1024 : 256; }
static inline constexpr int tile_cols(DType type) { return packed_block(type).block == kActBlock ? 128 : 256; }
/// The bytes of a slice of `cols` columns.
static inline constexpr int slice_bytes(DType type, int cols) {
  const PackedBlock block = packed_block(type);
  return cols / block.block * (block.quad_bytes + block.scale_bytes);
}

/// The argument of products of int8 rows.
struct ProductOfPanels {
  const uint8_t* panels;
  const ActPair* x;
  float* y;         // output n of row r at r * ldy + n
  int64_t cols;     // inputs
  int64_t outputs;  // the last panel may have more than are left
  int64_t ldy;
  int rows;
};

/// The argument of products of floats.
struct ProductOfFloats {
  const uint8_t* panels;
  const float* x;  // row r at r * stride; rows begin at multiples of 16 bytes
  float* y;        // output n of row r at r * ldy + n
  int64_t stride;
  int64_t cols;     // inputs, a multiple of 32
  int64_t outputs;  // the last panel may have more than are left
  int64_t ldy;
  int rows;
};

/// The bytes of the decoded scales of 256 columns of a panel: for each of its rows {scale, minimum} of 8 blocks of 32.
/// Rows are padded, so that lanes read from different banks of shared memory.
inline constexpr int kScaleRowBytes = 80, kScaleBytes = kPanelRows * kScaleRowBytes;

/// Whether a type's scales are decoded into shared memory, once for all lanes of a warp.
static inline constexpr bool has_shared_scales(DType type) { return type == DType::kQ4_K || type == DType::kQ5_K; }

/// The most rows of a product in which warps hand on their sums.
inline constexpr int kMaxBatonRows = 8;
/// The warps of a block of such a product, for one row and for more, and the slices that each warp has room for.
inline constexpr int kBatonWarpsOfOneRow = 8, kBatonWarps = 6, kBatonStages = 2;
static inline constexpr int baton_shared_bytes(DType type, int warps) {
  return warps * (kBatonStages * slice_bytes(type, baton_cols(type)) + (has_shared_scales(type) ? kScaleBytes : 0)) +
         kPanelRows * kMaxBatonRows * (int)sizeof(float);
}

/// The shape of a block for many rows: its warps, the panels and row tiles of each, and its room in slices.
struct TileShape {
  int panels_of_warp, warps_of_panels, tiles_of_warp, warps_of_tiles, stages;

  constexpr int panels() const { return panels_of_warp * warps_of_panels; }
  constexpr int tiles() const { return tiles_of_warp * warps_of_tiles; }
  constexpr int warps() const { return warps_of_panels * warps_of_tiles; }
};
static inline constexpr int tile_stage_bytes(DType type, TileShape shape) {
  const int acts = shape.tiles() * (tile_cols(type) / kPairCols) * (int)sizeof(ActPair);
  return shape.panels() * slice_bytes(type, tile_cols(type)) + acts;
}
static inline constexpr int tile_shared_bytes(DType type, TileShape shape) {
  return shape.stages * tile_stage_bytes(type, shape) + (has_shared_scales(type) ? shape.panels() * kScaleBytes : 0);
}

/// Products of floats: the panels of a block, which is one warp; the columns in a slice; the slices that it has room
/// for; and the rows of a block for several rows.
inline constexpr int kFloatPanels = 2, kFloatCols = 64, kFloatStages = 3, kFloatRows = 8;
static inline constexpr int float_shared_bytes(DType type) {
  return kFloatStages * kFloatPanels * kFloatCols * packed_block(type).scale_bytes;
}

/// The shape for up to 32 rows, and the one for more: as many row tiles as shared memory has room for.
inline constexpr TileShape kNarrowShape = {1, 2, 2, 2, 3};
static inline constexpr TileShape wide_shape(DType type) {
  TileShape shape = {2, 4, 4, 2, 2};
  while (tile_shared_bytes(type, shape) > kMaxSharedBytes) --shape.tiles_of_warp;
  return shape;
}

}  // namespace octavo::gpu
