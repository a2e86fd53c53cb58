// The kernels, threads and scratch memory that every part of a layer computes with.
#pragma once

#include <cstdint>
#include <span>

#include "base/math.h"
#include "base/thread_pool.h"
#include "base/to_size.h"
#include "cpu/multiply.h"
#include "cpu/weight_matrix.h"
#include "kernels/kernels.h"
#include "model/layer_spec.h"

namespace octavo {

/// out = activation(gate, up), element by element; `up` is null where the activation is of the gate alone. xIELU has
/// none, as its numbers are parameters (KernelTable::xielu).
using ActivateFn = void (*)(const float* gate, const float* up, std::int64_t n, float* out);
inline ActivateFn activation_of(const KernelTable& kernels, Activation activation) {
  switch (activation) {
    case Activation::kSilu: return kernels.silu_mul;
    case Activation::kGeluTanh: return kernels.gelu_mul;
    case Activation::kGelu: return kernels.gelu_erf_mul;
    case Activation::kClampedSwiglu: return kernels.clamped_swiglu;
    case Activation::kSquaredRelu: return kernels.squared_relu;
    case Activation::kXielu: break;
  }
  return nullptr;
}

/// Owned by the transformer, which outlives the parts that use it. One thread calls it, inside a pool step.
struct ComputeContext {
  const KernelTable& kernels;
  ThreadPool& pool;
  PanelScratch scratch;
  int max_rows;  // the most rows of one step
  Math math = Math();

  /// Counts the step's time from now on for `part`.
  void enter(StepPart part) const { pool.enter(part); }

  /// A buffer of rows: [max_rows, cols].
  AlignedBuffer<float> make_rows(int cols) const { return AlignedBuffer<float>(to_size(max_rows) * to_size(cols)); }
  QuantizedRows make_quantized_rows(int cols) const { return {max_rows, cols, kernels}; }

  /// Calls body(row, worker) for each row, on all threads. One thread has all rows of an int8 row tile: two would
  /// write the same cache lines.
  template <class Body>
  void for_rows(int rows, const Body& body) {
    for_pieces(rows, kRowGrain, body);
  }
  /// Does the same where rows share no memory that is written: so even few rows are divided among the threads.
  template <class Body>
  void for_rows_apart(int rows, const Body& body) {
    for_pieces(rows, are_few(rows) ? to_size((rows + pool.num_threads() - 1) / pool.num_threads()) : kRowGrain, body);
  }
  /// Whether for_rows() would leave threads idle to which for_rows_apart() gives rows.
  bool are_few(int rows) const { return rows > 1 && to_size(rows) < kRowGrain * to_size(pool.num_threads()); }

  void multiply(std::span<const Product> products, const ActivationRows& x, int rows) {
    octavo::multiply(products, x, rows, kernels, scratch, pool);
  }
  /// y = w x for all rows; y: [rows, w.rows].
  void multiply(const WeightMatrix& w, const ActivationRows& x, int rows, float* y) {
    const Product product{&w, y};
    multiply({&product, 1}, x, rows);
  }

 private:
  template <class Body>
  void for_pieces(int rows, std::size_t grain, const Body& body) {
    pool.for_ranges(to_size(rows), grain, [&](std::size_t begin, std::size_t end, int worker) {
      for (std::size_t row = begin; row < end; ++row) body(static_cast<std::int64_t>(row), worker);
    });
  }

  // How many rows a thread takes at once: as many as an int8 row tile may have.
  static constexpr std::size_t kRowGrain = 8;
};

}  // namespace octavo
