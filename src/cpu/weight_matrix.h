// A weight matrix in the form that the model holds, and its panels as products read them.
//
// Matrices are packed at load, or they stay in the mapped file as they are. Then each thread packs the panels that it
// is about to use into scratch of its own: the same panels, so the same bits. The panels belong to Weights, all else to
// the mapped file; all threads read both. A PanelScratch belongs to the transformer; a thread uses its own part.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/aligned_buffer.h"
#include "base/to_size.h"
#include "cpu/row_forms.h"
#include "kernels/kernels.h"
#include "kernels/pack.h"
#include "kernels/packed_layout.h"

namespace octavo {

struct WeightMatrix {
  DType type = DType::kF32;
  ActivationForm activations = ActivationForm::kFloat;  // the form that its products read
  PanelOrder order = PanelOrder::kQuads;                // and the order of its panels that they read
  std::int64_t rows = 0, cols = 0;                      // outputs, inputs
  const std::uint8_t* panels = nullptr;                 // null: it was not packed at load
  const std::byte* file = nullptr;                      // its bytes in the file, if it was not packed at load
  const float* scale = nullptr;                         // a factor of its products; null: 1

  RowForms forms() const { return RowForms::of(activations); }
  PackedMatrix packed(std::int64_t num_rows, const std::uint8_t* data) const {
    return {type, num_rows, cols, data, scale != nullptr ? *scale : 1.0F};
  }
  std::uint64_t bytes() const {
    return panels != nullptr ? packed_bytes(type, rows, cols)
                             : *dtype_bytes(type, static_cast<std::uint64_t>(rows * cols));
  }
};

/// The matrices of a layer's experts, all of one shape, one after another; the panels of each begin anew.
struct ExpertMatrices {
  WeightMatrix first;
  int count = 0;
  std::int64_t file_rows = 0;   // the distance from one to the next in the file; 0: an expert's rows
  const float* bias = nullptr;  // [count][first.rows], added to products; nullptr: none

  WeightMatrix of(int expert) const {
    WeightMatrix matrix = first;
    if (first.panels != nullptr) matrix.panels += to_size(expert) * first.bytes();
    if (first.file != nullptr)
      matrix.file +=
          to_size(expert) * *dtype_bytes(first.type, to_size((file_rows == 0 ? first.rows : file_rows) * first.cols));
    if (first.scale != nullptr) matrix.scale += expert;  // each has a factor, one after another
    return matrix;
  }
  const float* bias_of(int expert) const { return bias == nullptr ? nullptr : bias + expert * first.rows; }
  /// The bytes of one expert's matrix, its bias included.
  std::uint64_t bytes_of_one() const {
    return first.bytes() + (bias == nullptr ? 0 : to_size(first.rows) * sizeof(float));
  }
};

/// Whether the model has the matrix.
inline bool is_present(const WeightMatrix& matrix) { return matrix.rows > 0; }

class PanelScratch {
 public:
  /// A scratch without memory, for matrices that are packed already.
  PanelScratch() = default;
  /// A scratch for matrices whose panels have at most `largest_panel_bytes`.
  PanelScratch(std::size_t largest_panel_bytes, int num_threads);

  /// Calls use(range, first) for the panels from `begin` to `end` of w, in order, some at a time: `range` is a matrix
  /// of these panels alone, `first` the index of its first panel in w. It is valid during the call.
  template <class Use>
  void for_ranges(const WeightMatrix& w, std::int64_t begin, std::int64_t end, int worker, const Use& use) {
    if (begin >= end) return;
    const std::size_t stride = panel_bytes(w.type, w.cols);
    if (w.panels != nullptr) {
      use(matrix_of(w, begin, end, w.panels + to_size(begin) * stride), begin);
      return;
    }
    const auto most = std::max<std::int64_t>(1, static_cast<std::int64_t>(kRangeBytes / stride));
    for (; begin < end; begin += most) {
      const std::int64_t until = std::min(begin + most, end);
      use(matrix_of(w, begin, until, pack(w, begin, until, worker)), begin);
    }
  }

  /// Decodes row `row` of w into y[0 .. cols).
  void decode_row(const KernelTable& kernels, const WeightMatrix& w, std::int64_t row, int worker, float* y);

  std::size_t size_bytes() const { return memory_.size_bytes(); }

 private:
  // A part of the second-level cache: panels are packed into it and read from it, beside the rows of the step.
  static constexpr std::size_t kRangeBytes = std::size_t{256} << 10;

  static PackedMatrix matrix_of(const WeightMatrix& w, std::int64_t begin, std::int64_t end, const std::uint8_t* data) {
    return w.packed(std::min(end * kPanelRows, w.rows) - begin * kPanelRows, data);
  }
  const std::uint8_t* pack(const WeightMatrix& w, std::int64_t begin, std::int64_t end, int worker);
  std::uint8_t* part_of(int worker) { return memory_.data() + to_size(worker) * part_bytes_; }

  std::size_t part_bytes_ = 0;  // the bytes of one thread's part
  AlignedBuffer<std::uint8_t> memory_;
};

}  // namespace octavo
