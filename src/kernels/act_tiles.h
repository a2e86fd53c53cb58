// The memory layout of the int8 form of a step's rows: the rows lie in the row tiles that a matrix kernel multiplies
// together. Everything in a row tile is found from one address with constant offsets.
//
// `rows` rows make tiles of `tile_rows` (a level's own number, 4 or 8), then one of 4 where as many are left over, and
// one of the last 1 to 3. Row tiles lie one after another; one is ActTile<its rows>, once for each 32 columns.
//
// The bf16 form takes as many bytes. Its row tiles have kBf16TileRows rows, and the last one the rest. One is, for each
// 32 columns, [16 pairs][its rows][2], where pair i is columns i and 16 + i: what a matrix tile reads
// (isa/tiles_amx.h). kBf16ReadBehind bytes behind the last one can be read. Plain header: kernels of every instruction
// set include it, so its functions have internal linkage.
#pragma once

#include <stddef.h>
#include <stdint.h>

namespace octavo {

/// The number of activations in a block.
inline constexpr int kActBlock = 32;

/// A tile of 32 columns of R rows.
template <int R>
struct ActTile {
  int8_t q[R][kActBlock];     // -127 .. 127
  float scale[R];             // x is about q * scale
  float sum32[R];             // the scale times the sum of q
  float sum16[2][R];          // the sum of each half of the columns
  int32_t minus_sum32[R];     // minus the sum of q, with which sums of products begin where weights have an offset
  int32_t minus_sum16[2][R];  // the same for each half of the columns
  int32_t sum_pair[R];        // both halves: 8 times the sum of q in the upper 16 bits, 2^15 less than it in the lower
};

/// The number of rows of the one tile of a middle size, on levels with larger tiles.
inline constexpr int kSmallTile = 4;

/// The bytes of a row in its tile.
static inline constexpr size_t act_row_bytes(int64_t cols) { return (size_t)(cols / kActBlock) * sizeof(ActTile<1>); }

/// The row tile that contains row `row` of `rows`.
struct RowTile {
  int64_t first;
  int rows;
};
static inline constexpr RowTile tile_of_row(int64_t row, int64_t rows, int tile_rows) {
  int64_t first = rows / tile_rows * tile_rows;
  if (row < first) return {row / tile_rows * tile_rows, tile_rows};
  if (rows - first >= kSmallTile) {
    if (row < first + kSmallTile) return {first, kSmallTile};
    first += kSmallTile;
  }
  return {first, (int)(rows - first)};
}

/// Rows whose bytes lie side by side a second time where a level multiplies them on matrix tiles
/// (KernelTable::joined_rows): the whole sixteens of a matrix of rows, as [rows / 16][cols / 32][16][32].
inline constexpr int kJoinedRows = 16;

/// The place of a row: its own part of each ActTile<rows>, or of each block of the bf16 form, from `tile` on.
struct ActPlace {
  uint8_t* tile;
  int rows, row;
  int8_t* joined = nullptr;  // the row's part of its first [16][32], if it has one
};
static inline constexpr ActPlace act_place(uint8_t* tiles, int64_t cols, int64_t row, int64_t rows, int tile_rows) {
  const RowTile tile = tile_of_row(row, rows, tile_rows);
  return {tiles + (size_t)tile.first * act_row_bytes(cols), tile.rows, (int)(row - tile.first)};
}
/// The place of a row's bytes in joined rows; null: the row is one of the last, which are not joined.
static inline constexpr int8_t* joined_place(int8_t* joined, int64_t cols, int64_t row, int64_t rows) {
  const int64_t first = row / kJoinedRows * kJoinedRows;
  return first + kJoinedRows <= rows ? joined + first * cols + (row - first) * kActBlock : nullptr;
}

inline constexpr int kBf16TileRows = 16, kBf16ReadBehind = 64;
inline constexpr int kBf16Pairs = kActBlock / 2;
static_assert(kActBlock * 2 == sizeof(ActTile<1>));

/// The place of a row in the bf16 form.
static inline constexpr ActPlace bf16_place(uint8_t* tiles, int64_t cols, int64_t row, int64_t rows) {
  const int64_t first = row / kBf16TileRows * kBf16TileRows, left = rows - first;
  return {tiles + (size_t)first * act_row_bytes(cols), (int)(left < kBf16TileRows ? left : kBf16TileRows),
          (int)(row - first)};
}

}  // namespace octavo
