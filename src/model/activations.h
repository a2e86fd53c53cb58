// Every buffer that a step computes in: named, sized and allocated once at load.
//
// Owned by the model runner; one step uses it at a time. Rows are rows of the batch.
#pragma once

#include "base/aligned_buffer.h"
#include "kernels/kernels.h"
#include "model/config.h"

namespace octavo {

/// The int8 form of rows of activations, for weights that are quantized: kernels/act_tiles.h.
class QuantizedRows {
 public:
  QuantizedRows() = default;
  /// `tile_rows`: of the kernels that read them.
  QuantizedRows(int max_rows, int max_cols, int tile_rows);

  /// Where row `row` of a matrix of `rows` x `cols` goes, from block `block` of kActBlock columns on.
  ActSlot slot(std::int64_t row, std::int64_t rows, std::int64_t cols, std::int64_t block = 0) {
    ActSlot slot = act_slot(tiles_.data(), cols, row, rows, tile_rows_);
    slot.tile += static_cast<std::size_t>(block * slot.rows) * sizeof(ActTile<1>);
    return slot;
  }
  /// All rows, with the floats `x` that they were made from.
  ActivationRows view(const float* x, std::int64_t cols) const {
    return {.cols = cols, .x = x, .tiles = tiles_.data()};
  }

 private:
  int tile_rows_ = 1;
  AlignedBuffer<std::uint8_t> tiles_;
};

struct Activations {
  Activations(const ModelConfig& config, int max_rows, int max_logit_rows, int tile_rows, int num_threads);

  AlignedBuffer<float> x;         // [rows, width]      the residual stream
  AlignedBuffer<float> h;         // [rows, width]      normed input of a sub-layer, or its output
  AlignedBuffer<float> q;         // [rows, q_width]
  AlignedBuffer<float> k, v;      // [rows, kv_width]
  AlignedBuffer<float> attended;  // [rows, q_width]
  AlignedBuffer<float> gated;     // [rows, ffn_width]  activation(gate) * up, where a product wants floats
  AlignedBuffer<float> pairs;     // [threads][gated_scratch_floats] (model/multiply.h)
  QuantizedRows int8;             // of whichever of x, h and attended is multiplied next
  QuantizedRows gated_int8;       // of activation(gate) * up

  AlignedBuffer<float> cosines, sines;              // [rows, head_dim / 2] of layers without a window
  AlignedBuffer<float> local_cosines, local_sines;  // of windowed layers

  AlignedBuffer<float> logits;  // [logit rows, vocab_size]
};

}  // namespace octavo
