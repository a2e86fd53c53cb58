// Rows of activations as int8, for products on a card: the numbers are those of quantize_row() of the CPU's kernels, in
// the order that an mma instruction reads. A plain header: kernels and the host include it.
//
// Eight rows are a row tile, with one ActPair for each 64 columns; row tiles lie one after another in memory. Rows that
// the last row tile lacks need not be written, nor the 32 columns that the last pair may lack: products skip them.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "kernels/act_tiles.h"

namespace octavo::gpu {

/// The rows in a row tile.
inline constexpr int kRowsOfTile = 8;
/// The columns in an ActPair.
inline constexpr int kPairCols = 2 * kActBlock;

/// 64 columns of 8 rows, in two blocks of 32 (`block`). Lanes 4 g + j of a warp have the sums of an mma in its columns
/// 2 j and 2 j + 1, which are these rows of the tile.
struct alignas(16) ActPair {
  int8_t q[8][4][2][2][4];      // [row][j][block][half]: columns 32 block + 16 half + 4 j + 0 .. 3
  float terms[2][4][4];         // [block][j]: the scales of rows 2 j, 2 j + 1; the scales times the sums of q of both
  int32_t sums[2][4][2];        // [block][j]: the sums of q of rows 2 j, 2 j + 1
  int32_t first_sums[2][4][2];  // [block][j]: the sums over the first 16 columns of a block alone
};
static_assert(sizeof(ActPair) == 768);

/// The number of pairs in a row tile.
constexpr int act_pairs(int64_t cols) { return (int)((cols + kPairCols - 1) / kPairCols); }
/// The number of row tiles for `rows` rows.
constexpr int64_t act_tiles(int64_t rows) { return (rows + kRowsOfTile - 1) / kRowsOfTile; }
/// The bytes that `rows` rows take.
constexpr size_t act_bytes(int64_t rows, int64_t cols) {
  return (size_t)act_tiles(rows) * (size_t)act_pairs(cols) * sizeof(ActPair);
}

/// The threads of a block of octavo_quantize_rows, and the columns that a block takes. The grid: x over columns, y over
/// rows.
inline constexpr int kQuantizeThreads = 256, kQuantizeCols = 4 * kQuantizeThreads;

/// The argument of octavo_quantize_rows.
struct QuantizeRows {
  const float* x;        // row r at r * stride; rows begin at multiples of 16 bytes
  int64_t stride, cols;  // in floats; cols is a multiple of 32
  ActPair* out;
};

}  // namespace octavo::gpu
