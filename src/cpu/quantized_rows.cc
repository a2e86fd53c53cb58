#include "cpu/quantized_rows.h"

#include <algorithm>

namespace octavo {
namespace {

/// One form: where a row lies, and what writes one row, and a block of several rows of a row tile.
struct Form {
  ActPlace (*place)(const QuantizedOut& out, std::int64_t row, const RowPart& part);
  void (*of_row)(const float* x, std::int64_t n, const ActPlace& out);
  void (*of_column)(const float* x, std::int64_t stride, int count, const ActPlace& out);
};

void write_form(const Form& form, const QuantizedOut& out, const RowPart& part) {
  int count = 0;  // rows of the part that lie in one row tile
  for (std::int64_t row = part.row; row < part.row_end; row += count) {
    ActPlace place = form.place(out, row, part);
    count = static_cast<int>(std::min<std::int64_t>(place.rows - place.row, part.row_end - row));
    const float* x = part.x + (row - part.row) * part.stride;
    const std::size_t step = to_size(place.rows) * sizeof(ActTile<1>);
    place.tile += to_size(part.block) * step;
    if (place.joined != nullptr) place.joined += part.block * kJoinedRows * kActBlock;
    if (count == 1) {
      form.of_row(x, part.blocks * kActBlock, place);
      continue;
    }
    for (std::int64_t block = 0; block < part.blocks; ++block, x += kActBlock, place.tile += step) {
      form.of_column(x, part.stride, count, place);
      if (place.joined != nullptr) place.joined += kJoinedRows * kActBlock;
    }
  }
}

}  // namespace

void QuantizedOut::write(const RowPart& part) const {
  if (forms.int8)
    write_form({.place =
                    [](const QuantizedOut& out, std::int64_t row, const RowPart& p) {
                      ActPlace place = act_place(out.int8, p.cols, row, p.rows, out.kernels->tile_rows);
                      if (out.joined != nullptr) place.joined = joined_place(out.joined, p.cols, row, p.rows);
                      return place;
                    },
                .of_row = kernels->quantize_row,
                .of_column = kernels->quantize_column},
               *this, part);
  if (forms.bf16)
    write_form({.place = [](const QuantizedOut& out, std::int64_t row,
                            const RowPart& p) { return bf16_place(out.bf16, p.cols, row, p.rows); },
                .of_row = kernels->round_row,
                .of_column = kernels->round_column},
               *this, part);
}

QuantizedRows::QuantizedRows(int max_rows, int max_cols, const KernelTable& kernels)
    : kernels_(&kernels), int8_(to_size(max_rows) * act_row_bytes(max_cols)) {
  if (kernels.round_row != nullptr && int8_.size() > 0)
    bf16_ = AlignedBuffer<std::uint8_t>(int8_.size() + kBf16ReadBehind);
  if (kernels.joined_rows > 0 && max_rows >= kernels.joined_rows)
    joined_ = AlignedBuffer<std::int8_t>(to_size(max_rows) * to_size(max_cols));
}

}  // namespace octavo
