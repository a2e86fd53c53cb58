#include "cpu/residual_stream.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <span>

#include "base/error.h"
#include "base/to_size.h"

namespace octavo {

ResidualStream::ResidualStream(ComputeContext& context, int width, int max_cols, const NormOptions& norms)
    : context_(context),
      width_(width),
      norms_(norms),
      x_(context.make_rows(width)),
      h_(context.make_rows(width)),
      quantized_(context.make_quantized_rows(max_cols)) {}

bool ResidualStream::is_finite(std::int64_t row) const {
  constexpr std::uint32_t kMagnitude = 0x7FFFFFFF, kInfinity = 0x7F800000;
  std::uint32_t largest = 0;
  for (const float value : std::span(x_.data() + row * width_, to_size(width_)))
    largest = std::max(largest, std::bit_cast<std::uint32_t>(value) & kMagnitude);
  return largest < kInfinity;
}

void ResidualStream::norm_row(const Norm& norm, std::int64_t x_row, std::int64_t row, int rows) {
  float* h = h_.data() + row * width_;
  if (norm.weight != nullptr) {
    apply(norm, norms_.epsilon, x(x_row), h);
  } else {
    std::copy_n(x(x_row), width_, h);
  }
  quantize_row(norm.forms, h_.data(), width_, row, rows);
}

void ResidualStream::apply(const Norm& norm, float epsilon, const float* from, float* to) const {
  norms_.kind == NormKind::kRms ? context_.kernels.rms_norm(from, norm.weight, width_, epsilon, to)
                                : context_.kernels.layer_norm(from, norm.weight, norm.bias, width_, epsilon, to);
}

void ResidualStream::norm_result(const float* weight, float* row) const {
  apply({.weight = weight}, norms_.epsilon_of_results, row, row);
}

void ResidualStream::finish_row(const Epilogue& epilogue, std::int64_t row, int rows) {
  float* h = h_.data() + row * width_;
  if (epilogue.post_norm != nullptr) norm_result(epilogue.post_norm, h);
  if (epilogue.result_scale != 1) context_.kernels.scale(h, epilogue.result_scale, width_);
  if (epilogue.is_parallel) return finish_parallel(epilogue, row, rows);
  context_.kernels.add(x(row), h, width_);
  if (epilogue.sum_norm.weight != nullptr) norm_in_place(epilogue.sum_norm, row);
  if (epilogue.scale != 1) context_.kernels.scale(x(row), epilogue.scale, width_);
  if (epilogue.next) norm_row(*epilogue.next, row, row, rows);
}

/// Adds the result to the row where the next part reads the same row: both are swapped first, so that the next part's
/// norm still has the row when the sum is made.
void ResidualStream::finish_parallel(const Epilogue& epilogue, std::int64_t row, int rows) {
  float* h = h_.data() + row * width_;
  std::swap_ranges(h, h + width_, x(row));
  context_.kernels.add(x(row), h, width_);
  if (!epilogue.next) return;
  if (epilogue.next->weight != nullptr) apply(*epilogue.next, norms_.epsilon, h, h);
  quantize_row(epilogue.next->forms, h_.data(), width_, row, rows);
}

void ResidualStream::keep_rows(std::span<const std::int32_t> rows) {
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const auto to = static_cast<std::int64_t>(i);
    OCTAVO_CHECK(rows[i] >= to && (i == 0 || rows[i] > rows[i - 1]), "row {} is out of order", rows[i]);
    if (rows[i] != to) std::copy_n(x(rows[i]), width_, x(to));
  }
}

void ResidualStream::quantize_row(RowForms forms, const float* x, std::int64_t cols, std::int64_t row, int rows) {
  quantized_.out(forms).write_row(x + row * cols, row, rows, cols);
}

void ResidualStream::quantize_rows(RowForms forms, const float* x, std::int64_t cols, int rows) {
  if (!forms.any()) return;
  if (context_.are_few(rows)) return quantize_columns(forms, x, cols, rows);
  context_.for_rows(rows, [&](std::int64_t row, int) { quantize_row(forms, x, cols, row, rows); });
}

void ResidualStream::multiply(const WeightMatrix& w, const float* x, int rows, float* y) {
  quantize_rows(w.forms(), x, w.cols, rows);
  context_.multiply(w, quantized(x, w.cols), rows, y);
}

void ResidualStream::quantize_columns(RowForms forms, const float* x, std::int64_t cols, int rows) {
  constexpr std::size_t kGrain = 4;  // blocks; each is a few cache lines of a row tile
  const QuantizedOut out = quantized_.out(forms);
  context_.pool.for_ranges(to_size(cols / kActBlock), kGrain, [&](std::size_t begin, std::size_t end, int) {
    const auto block = static_cast<std::int64_t>(begin);
    out.write({.x = x + block * kActBlock,
               .stride = cols,
               .row = 0,
               .row_end = rows,
               .rows = rows,
               .block = block,
               .blocks = static_cast<std::int64_t>(end - begin),
               .cols = cols});
  });
}

}  // namespace octavo
