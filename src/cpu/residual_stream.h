// The rows of a step as they go through the layers: the residual stream, and each part's input and result.
//
// A part (a mixer or a feed-forward) finds its normed input in h and leaves its result there. finish_row() adds it to
// the stream and makes the next part's input while the row is in the caches. Owned by the transformer; the threads of a
// step use different rows.
#pragma once

#include <optional>
#include <span>

#include "cpu/compute_context.h"
#include "model/config.h"

namespace octavo {

/// The norm that makes a part's input, of the model's kind.
struct Norm {
  const float* weight = nullptr;  // [width]; nullptr: the part reads the row as it is
  const float* bias = nullptr;    // [width]; nullptr: none
  RowForms forms = {};            // the forms in which the input is needed beside floats
};

/// The work on each row after a part: x = scale sum_norm(x + result_scale post_norm(h)), then the next part's input.
/// Where both parts are parallel, that input is made of the row before the sum.
struct Epilogue {
  const float* post_norm = nullptr;  // [width]; nullptr: none
  float result_scale = 1;
  Norm sum_norm = {};
  float scale = 1;
  std::optional<Norm> next = {};  // none: nothing in this step reads the normed row
  bool is_parallel = false;       // the next part reads the same row as this one
};

/// The options that all norms of a model share.
struct NormOptions {
  NormKind kind = NormKind::kRms;
  float epsilon = 0;
  float epsilon_of_results = 0;  // for norms of the results of mixers and feed-forwards

  static NormOptions of(const ModelConfig& config) {
    return {.kind = config.norm, .epsilon = config.norm_epsilon, .epsilon_of_results = config.epsilon_of_results()};
  }
};

class ResidualStream {
 public:
  /// `max_cols`: the most columns of rows that are quantized here. The context must outlive it.
  ResidualStream(ComputeContext& context, int width, int max_cols, const NormOptions& norms);

  float* x(std::int64_t row) { return x_.data() + row * width_; }
  bool is_finite(std::int64_t row) const;
  std::size_t size_bytes() const { return x_.size_bytes() + h_.size_bytes() + quantized_.size_bytes(); }
  /// [rows, width]
  float* h() { return h_.data(); }
  /// h of all rows, with its last int8 and bf16 forms.
  ActivationRows input() const { return quantized_.view(h_.data(), width_); }

  /// Row `row` of h = norm(row `x_row` of x); `rows` is the number of all rows. Also in the forms that the norm says.
  void norm_row(const Norm& norm, std::int64_t x_row, std::int64_t row, int rows);
  /// Row `row` of x, normed in place.
  void norm_in_place(const Norm& norm, std::int64_t row) { apply(norm, norms_.epsilon, x(row), x(row)); }
  /// Norms a part's result of one row, [width], in place.
  void norm_result(const float* weight, float* row) const;
  void finish_row(const Epilogue& epilogue, std::int64_t row, int rows);
  /// finish_row() for all of `rows`, each after before(row). Few rows are divided among the threads, which then
  /// quantize them by columns.
  template <class Before>
  void finish_rows(const Epilogue& epilogue, int rows, const Before& before) {
    Epilogue by_row = epilogue;
    const bool by_columns = context_.are_few(rows) && epilogue.next && epilogue.next->forms.any();
    if (by_columns) by_row.next->forms = {};
    const auto finish = [&](std::int64_t row, int) {
      before(row);
      finish_row(by_row, row, rows);
    };
    by_columns ? context_.for_rows_apart(rows, finish) : context_.for_rows(rows, finish);
    if (by_columns) quantize_columns(epilogue.next->forms, h_.data(), width_, rows);
  }
  /// Keeps only some rows, in ascending order: row rows[i] becomes row i.
  void keep_rows(std::span<const std::int32_t> rows);

  /// Quantizes row `row` of x, [rows, cols], to some forms, which replace those of h.
  void quantize_row(RowForms forms, const float* x, std::int64_t cols, std::int64_t row, int rows);
  /// Quantizes all `rows` of x; where they are few, threads share the columns.
  void quantize_rows(RowForms forms, const float* x, std::int64_t cols, int rows);
  ActivationRows quantized(const float* x, std::int64_t cols) const { return quantized_.view(x, cols); }
  /// y = w x for all `rows` of x, [rows, w.cols], in the forms that w reads; y: [rows, w.rows].
  void multiply(const WeightMatrix& w, const float* x, int rows, float* y);
  /// Ends a mixer: h = `output` times the mixer's result, [rows, output.cols]; then finish_rows().
  template <class Before>
  void finish_mixer(const WeightMatrix& output, const float* result, int rows, const Epilogue& epilogue,
                    const Before& before) {
    quantize_rows(output.forms(), result, output.cols, rows);
    context_.enter(StepPart::kMixerOutput);
    context_.multiply(output, quantized(result, output.cols), rows, h());
    context_.enter(StepPart::kRows);
    finish_rows(epilogue, rows, before);
  }

 private:
  /// finish_row() where the next part reads the same row of x.
  void finish_parallel(const Epilogue& epilogue, std::int64_t row, int rows);
  /// to = norm(from), for one row.
  void apply(const Norm& norm, float epsilon, const float* from, float* to) const;
  void quantize_columns(RowForms forms, const float* x, std::int64_t cols, int rows);

  ComputeContext& context_;
  int width_;
  NormOptions norms_;
  AlignedBuffer<float> x_;   // [rows, width]
  AlignedBuffer<float> h_;   // [rows, width]
  QuantizedRows quantized_;  // the rows that are multiplied next
};

}  // namespace octavo
