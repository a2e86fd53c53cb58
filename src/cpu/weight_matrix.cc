#include "cpu/weight_matrix.h"

#include "base/to_size.h"

namespace octavo {
namespace {

/// Rows `begin` to `begin + count` as the file has them.
Tensor rows_of(const WeightMatrix& w, std::int64_t begin, std::int64_t count) {
  Tensor rows{.type = w.type, .rows = count, .cols = w.cols, .data = {}};
  const std::size_t row_bytes = rows.row_bytes();
  rows.data = {w.file + to_size(begin) * row_bytes, to_size(count) * row_bytes};
  return rows;
}

}  // namespace

PanelScratch::PanelScratch(std::size_t largest_panel_bytes, int num_threads)
    : part_bytes_(std::max(largest_panel_bytes, kRangeBytes)), memory_(part_bytes_ * to_size(num_threads)) {}

const std::uint8_t* PanelScratch::pack(const WeightMatrix& w, std::int64_t begin, std::int64_t end, int worker) {
  std::uint8_t* packed = part_of(worker);
  const std::int64_t first = begin * kPanelRows, count = std::min(end * kPanelRows, w.rows) - first;
  pack_panels(rows_of(w, first, count), 0, end - begin, packed, w.order);
  return packed;
}

void PanelScratch::decode_row(const KernelTable& kernels, const WeightMatrix& w, std::int64_t row, int worker,
                              float* y) {
  const DecodeRowFn decode = kernels.decode_row[dtype_index(w.type)];
  if (w.panels != nullptr) return decode(w.packed(w.rows, w.panels), row, y);
  // Packs a panel of this row alone, so that the same code decodes the same numbers.
  std::uint8_t* packed = part_of(worker);
  pack_panels(rows_of(w, row, 1), 0, 1, packed, w.order);
  decode(w.packed(1, packed), 0, y);
}

}  // namespace octavo
