// The int8 form of rows of activations, for weights that are quantized: kernels/act_tiles.h.
//
// Owned by the part that fills it; one step uses it at a time. Rows are rows of the step.
#pragma once

#include "base/aligned_buffer.h"
#include "base/to_size.h"
#include "kernels/kernels.h"

namespace octavo {

/// Rows to be filled, the first of them at `tiles`.
struct QuantizedOut {
  std::uint8_t* tiles = nullptr;  // null: not wanted
  int tile_rows = 1;

  /// The place of row `row` of a matrix of `rows` x `cols` from block `block` of kActBlock columns on.
  ActPlace place(std::int64_t row, std::int64_t rows, std::int64_t cols, std::int64_t block = 0) const {
    ActPlace place = act_place(tiles, cols, row, rows, tile_rows);
    place.tile += to_size(block * place.rows) * sizeof(ActTile<1>);
    return place;
  }
};

class QuantizedRows {
 public:
  QuantizedRows() = default;
  /// `tile_rows`: of the kernels that read them.
  QuantizedRows(int max_rows, int max_cols, int tile_rows)
      : tile_rows_(tile_rows), tiles_(to_size(max_rows) * act_row_bytes(max_cols)) {}

  /// Rows of `cols` columns that are a matrix of their own, from row `first` of all on.
  QuantizedOut out(std::int64_t first = 0, std::int64_t cols = 0) {
    return {tiles_.data() + to_size(first) * act_row_bytes(cols), tile_rows_};
  }
  std::size_t size_bytes() const { return tiles_.size_bytes(); }
  ActPlace place(std::int64_t row, std::int64_t rows, std::int64_t cols) { return out().place(row, rows, cols); }
  /// All rows from `first` on, with the floats `x` that they were made from.
  ActivationRows view(const float* x, std::int64_t cols, std::int64_t first = 0) const {
    return {.cols = cols, .x = x, .tiles = tiles_.data() + to_size(first) * act_row_bytes(cols)};
  }

 private:
  int tile_rows_ = 1;
  AlignedBuffer<std::uint8_t> tiles_;
};

}  // namespace octavo
