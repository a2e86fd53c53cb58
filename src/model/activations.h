// Every buffer that a step computes in: named, sized and allocated once at load.
//
// Owned by the model runner; one step uses it at a time. Rows are rows of the batch.
#pragma once

#include "base/aligned_buffer.h"
#include "kernels/kernels.h"
#include "model/config.h"

namespace octavo {

/// The int8 form of rows of activations, for weights that are quantized.
class QuantizedRows {
 public:
  QuantizedRows() = default;
  QuantizedRows(int max_rows, int max_cols);

  /// Where row `row` of a matrix of `cols` columns goes.
  QuantizedRow row(std::int64_t row, std::int64_t cols);
  /// All rows, with the floats `x` that they were made from.
  ActivationRows view(const float* x, std::int64_t cols) const;

 private:
  AlignedBuffer<std::int8_t> q_;
  AlignedBuffer<float> scale_, sum32_, sum16_;
  AlignedBuffer<std::int32_t> bias_;
};

struct Activations {
  Activations(const ModelConfig& config, int max_rows, int max_logit_rows);

  AlignedBuffer<float> x;         // [rows, width]      the residual stream
  AlignedBuffer<float> h;         // [rows, width]      normed input of a sub-layer, or its output
  AlignedBuffer<float> q;         // [rows, q_width]
  AlignedBuffer<float> k, v;      // [rows, kv_width]
  AlignedBuffer<float> attended;  // [rows, q_width]
  AlignedBuffer<float> gate, up;  // [rows, ffn_width]; gate becomes activation(gate) * up
  QuantizedRows int8;             // of whichever of these is multiplied next

  AlignedBuffer<float> cosines, sines;              // [rows, head_dim / 2] of layers without a window
  AlignedBuffer<float> local_cosines, local_sines;  // of windowed layers

  AlignedBuffer<float> logit_h;  // [logit rows, width]
  AlignedBuffer<float> logits;   // [logit rows, vocab_size]
};

}  // namespace octavo
