// The rows of a step on their way through the layers: the residual stream, and each part's input and result.
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

/// The norm of a part's input, of the model's kind.
struct Norm {
  const float* weight = nullptr;  // [width]; nullptr: the part reads the row as it is
  const float* bias = nullptr;    // [width]; nullptr: none
  bool quantize = false;          // for a matrix that meets it in int8
};

/// The work on each row behind a part: x = scale sum_norm(x + result_scale post_norm(h)), then the input of the next
/// part, which is made of the row as it was before the sum where the parts are parallel.
struct Epilogue {
  const float* post_norm = nullptr;  // [width]; nullptr: none
  float result_scale = 1;
  Norm sum_norm = {};
  float scale = 1;
  std::optional<Norm> next = {};  // none: nothing of this step reads the row's norm
  bool is_parallel = false;       // the next part reads the same row as this one
};

/// What all norms of a model have in common.
struct NormOptions {
  NormKind kind = NormKind::kRms;
  float epsilon = 0;
  float epsilon_of_results = 0;  // of norms of what a mixer or a feed-forward gives

  static NormOptions of(const ModelConfig& config) {
    return {.kind = config.norm, .epsilon = config.norm_epsilon, .epsilon_of_results = config.epsilon_of_results()};
  }
};

class ResidualStream {
 public:
  /// `max_cols`: of the widest rows that are quantized here. The context must outlive it.
  ResidualStream(ComputeContext& context, int width, int max_cols, const NormOptions& norms);

  float* x(std::int64_t row) { return x_.data() + row * width_; }
  bool is_finite(std::int64_t row) const;
  std::size_t size_bytes() const { return x_.size_bytes() + h_.size_bytes() + int8_.size_bytes(); }
  /// [rows, width]
  float* h() { return h_.data(); }
  /// h of all rows, with the int8 form that was made of it last.
  ActivationRows input() const { return int8_.view(h_.data(), width_); }

  /// Row `row` of h = norm(row `x_row` of x), of `rows` in all; in int8 too where a product wants it.
  void norm_row(const Norm& norm, std::int64_t x_row, std::int64_t row, int rows);
  /// Row `row` of x, normed in place.
  void norm_in_place(const Norm& norm, std::int64_t row) { apply(norm, norms_.epsilon, x(row), x(row)); }
  /// A part's result of one row, [width], normed in place.
  void norm_result(const float* weight, float* row) const;
  void finish_row(const Epilogue& epilogue, std::int64_t row, int rows);
  /// The same for all of `rows`, each behind before(row). Few rows are divided among the threads, which then make them
  /// int8 by columns.
  template <class Before>
  void finish_rows(const Epilogue& epilogue, int rows, const Before& before) {
    Epilogue by_row = epilogue;
    const bool by_columns = context_.are_few(rows) && epilogue.next && epilogue.next->quantize;
    if (by_columns) by_row.next->quantize = false;
    const auto finish = [&](std::int64_t row, int) {
      before(row);
      finish_row(by_row, row, rows);
    };
    by_columns ? context_.for_rows_apart(rows, finish) : context_.for_rows(rows, finish);
    if (by_columns) quantize_columns(h_.data(), width_, rows);
  }
  /// Row i becomes what row rows[i] was; ascending.
  void keep_rows(std::span<const std::int32_t> rows);

  /// The int8 form of row `row` of x, [rows, cols], which takes the place of h's.
  void quantize_row(const float* x, std::int64_t cols, std::int64_t row, int rows);
  /// The int8 form of all `rows` of x; of few rows threads share out the columns.
  void quantize_rows(const float* x, std::int64_t cols, int rows);
  ActivationRows quantized(const float* x, std::int64_t cols) const { return int8_.view(x, cols); }

 private:
  /// finish_row() of a part whose next one reads the same row of x.
  void finish_parallel(const Epilogue& epilogue, std::int64_t row, int rows);
  /// to = norm(from), of one row.
  void apply(const Norm& norm, float epsilon, const float* from, float* to) const;
  void quantize_columns(const float* x, std::int64_t cols, int rows);

  ComputeContext& context_;
  int width_;
  NormOptions norms_;
  AlignedBuffer<float> x_;  // [rows, width]
  AlignedBuffer<float> h_;  // [rows, width]
  QuantizedRows int8_;      // of whatever is multiplied next
};

}  // namespace octavo
