// Rows of activations as int8 (kernels/act_tiles.h), for products with quantized weights.
//
// Owned by the part that fills it; one step uses it at a time. Rows are rows of the step.
#pragma once

#include "base/aligned_buffer.h"
#include "base/to_size.h"
#include "kernels/kernels.h"

namespace octavo {

/// Where rows are to be quantized, the first of them to `tiles`.
struct QuantizedOut {
  std::uint8_t* tiles = nullptr;  // null: no int8 is wanted
  int tile_rows = 1;
  std::int8_t* joined = nullptr;  // null: rows are not joined

  /// Where row `row` of a matrix of `rows` x `cols` is written, from block `block` of kActBlock columns on.
  ActPlace place(std::int64_t row, std::int64_t rows, std::int64_t cols, std::int64_t block = 0) const {
    ActPlace place = act_place(tiles, cols, row, rows, tile_rows);
    place.tile += to_size(block * place.rows) * sizeof(ActTile<1>);
    if (joined != nullptr) place.joined = joined_place(joined + block * kJoinedRows * kActBlock, cols, row, rows);
    return place;
  }
};

class QuantizedRows {
 public:
  QuantizedRows() = default;
  /// `kernels` read them.
  QuantizedRows(int max_rows, int max_cols, const KernelTable& kernels)
      : tile_rows_(kernels.tile_rows),
        tiles_(to_size(max_rows) * act_row_bytes(max_cols)),
        joined_(kernels.joined_rows > 0 && max_rows >= kernels.joined_rows ? to_size(max_rows) * to_size(max_cols)
                                                                           : 0) {}

  /// Where a matrix of its own, with rows of `cols` columns, is written: over all rows from row `first` on.
  QuantizedOut out(std::int64_t first = 0, std::int64_t cols = 0) {
    return {tiles_.data() + to_size(first) * act_row_bytes(cols), tile_rows_,
            joined_.size() == 0 ? nullptr : joined_.data() + first * cols};
  }
  std::size_t size_bytes() const { return tiles_.size_bytes() + joined_.size_bytes(); }
  ActPlace place(std::int64_t row, std::int64_t rows, std::int64_t cols) { return out().place(row, rows, cols); }
  /// All rows from `first` on, with the floats `x` from which they were quantized.
  ActivationRows view(const float* x, std::int64_t cols, std::int64_t first = 0) const {
    return {.cols = cols,
            .x = x,
            .tiles = tiles_.data() + to_size(first) * act_row_bytes(cols),
            .joined = joined_.size() == 0 ? nullptr : joined_.data() + first * cols};
  }

 private:
  int tile_rows_ = 1;
  AlignedBuffer<std::uint8_t> tiles_;
  AlignedBuffer<std::int8_t> joined_;  // act_tiles.h; empty where kernels do not read it
};

}  // namespace octavo
