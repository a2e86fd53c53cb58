// Products of weight matrices with the rows of a step, shared out over the pool by ranges of outputs.
//
// One thread calls it, inside a pool step. K is never split, so the result does not depend on the number of threads.
#pragma once

#include <span>

#include "base/thread_pool.h"
#include "cpu/quantized_rows.h"
#include "cpu/weight_matrix.h"
#include "kernels/kernels.h"

namespace octavo {

struct Product {
  const WeightMatrix* weight;
  float* y;                   // [rows, weight->rows]
  std::int64_t y_stride = 0;  // from one row to the next; 0: weight->rows

  std::int64_t stride() const { return y_stride == 0 ? weight->rows : y_stride; }
};

/// The panels of a piece where products of so many rows have `total`: about eight pieces a thread, so that none waits
/// long for the last; at most as many panels as caches hold, and few if each takes long.
std::size_t panels_of_a_piece(std::int64_t total, int rows, const ThreadPool& pool);

/// All products of the same rows in one parallel region.
void multiply(std::span<const Product> products, const ActivationRows& x, int rows, const KernelTable& kernels,
              PanelScratch& scratch, ThreadPool& pool);

/// The beginning of a feed-forward: out = activation(gate x, up x), [rows, gate->rows].
struct GatedProduct {
  const WeightMatrix *gate, *up;  // of one shape; `up` is null where nothing stands beside the gate
  void (*activate)(const float* gate, const float* up, std::int64_t n, float* out);
  float* out;                                            // as floats; null: not wanted
  QuantizedOut quantized;                                // in the forms that the next product reads
  const float *gate_bias = nullptr, *up_bias = nullptr;  // [gate->rows], added to the products; null: none
  const XieluNumbers* xielu = nullptr;                   // xIELU's, in the place of `activate`; null: none
  float limit = 0;  // in the place of `activate`: silu(gate) up to it, times up within it on both sides; 0: none
};

/// Outputs of two panels: a block of the next product's activations.
inline constexpr std::int64_t kGatedColumns = 2 * kPanelRows;
static_assert(kGatedColumns == kActBlock);
/// A thread computes kGatedColumns outputs at a time for this many rows and more, and more outputs for fewer rows. It
/// then changes seldom from one matrix to the other while weights come from memory.
inline constexpr int kRowsOfOneGate = 64;
/// Floats that a thread needs for multiply_gated.
constexpr std::int64_t gated_scratch_floats(int max_rows) {
  return 2 * kGatedColumns * (max_rows > kRowsOfOneGate ? max_rows : kRowsOfOneGate);
}

/// Both products, the activation and the forms that are wanted in one parallel region: a thread finishes its outputs
/// while they are in its caches. `floats` holds gated_scratch_floats() for each thread.
void multiply_gated(const GatedProduct& product, const ActivationRows& x, int rows, const KernelTable& kernels,
                    PanelScratch& scratch, std::span<float> floats, ThreadPool& pool);

/// Rows row .. row_end and panels begin .. end of a product, or pairs of panels (kGatedColumns outputs) of a gated one.
struct ProductPart {
  std::int64_t begin, end, row, row_end;
};
/// Parts for a caller that shares them out itself: `worker` computes one. Parts of a gated product have `rows` rows in
/// all, and floats of their thread alone.
void multiply_part(const Product& product, const ActivationRows& x, const ProductPart& part, const KernelTable& kernels,
                   PanelScratch& scratch, int worker);
void multiply_gated_part(const GatedProduct& product, const ActivationRows& x, int rows, const ProductPart& part,
                         const KernelTable& kernels, PanelScratch& scratch, int worker, std::span<float> floats);

}  // namespace octavo
