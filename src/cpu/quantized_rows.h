// Rows of activations as int8 or bf16 (kernels/act_tiles.h), for products with quantized weights.
//
// Owned by the part that fills it; one step uses it at a time. Rows are rows of the step.
#pragma once

#include "base/aligned_buffer.h"
#include "base/to_size.h"
#include "cpu/row_forms.h"
#include "kernels/kernels.h"

namespace octavo {

/// Rows row .. row_end and blocks block .. block + blocks, of kActBlock columns each, of a matrix of `rows` x `cols`.
struct RowPart {
  const float* x;       // the first block of the first row
  std::int64_t stride;  // floats from one row to the next
  std::int64_t row, row_end, rows;
  std::int64_t block, blocks, cols;
};

/// Where rows are to be quantized: the first of them.
struct QuantizedOut {
  const KernelTable* kernels = nullptr;
  RowForms forms = {};
  std::uint8_t *int8 = nullptr, *bf16 = nullptr;
  std::int8_t* joined = nullptr;  // null: rows of the int8 form are not joined

  bool is_wanted() const { return forms.any(); }
  void write(const RowPart& part) const;
  /// Quantizes row `row` of a matrix of `rows` x `cols`, at x.
  void write_row(const float* x, std::int64_t row, std::int64_t rows, std::int64_t cols) const {
    write({.x = x,
           .stride = cols,
           .row = row,
           .row_end = row + 1,
           .rows = rows,
           .block = 0,
           .blocks = cols / kActBlock,
           .cols = cols});
  }
};

class QuantizedRows {
 public:
  QuantizedRows() = default;
  /// `kernels` are those that read them, and outlive them.
  QuantizedRows(int max_rows, int max_cols, const KernelTable& kernels);

  /// Where a matrix of its own, with rows of `cols` columns, is written: over all rows from row `first` on.
  QuantizedOut out(RowForms forms, std::int64_t first = 0, std::int64_t cols = 0) {
    return {.kernels = kernels_,
            .forms = forms,
            .int8 = at(int8_, first, cols),
            .bf16 = at(bf16_, first, cols),
            .joined = joined_.size() == 0 ? nullptr : joined_.data() + first * cols};
  }
  std::size_t size_bytes() const { return int8_.size_bytes() + bf16_.size_bytes() + joined_.size_bytes(); }
  /// All rows from `first` on, with the floats `x` from which they were quantized.
  ActivationRows view(const float* x, std::int64_t cols, std::int64_t first = 0) const {
    return {.cols = cols,
            .x = x,
            .tiles = at(int8_, first, cols),
            .bf16 = at(bf16_, first, cols),
            .joined = joined_.size() == 0 ? nullptr : joined_.data() + first * cols};
  }

 private:
  static const std::uint8_t* at(const AlignedBuffer<std::uint8_t>& rows, std::int64_t first, std::int64_t cols) {
    return rows.size() == 0 ? nullptr : rows.data() + to_size(first) * act_row_bytes(cols);
  }
  static std::uint8_t* at(AlignedBuffer<std::uint8_t>& rows, std::int64_t first, std::int64_t cols) {
    return rows.size() == 0 ? nullptr : rows.data() + to_size(first) * act_row_bytes(cols);
  }

  const KernelTable* kernels_ = nullptr;
  AlignedBuffer<std::uint8_t> int8_, bf16_;
  AlignedBuffer<std::int8_t> joined_;  // empty where kernels do not read it
};

}  // namespace octavo
