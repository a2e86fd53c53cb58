// The products of an attention's heads with matrices of their own: what multi-head latent attention makes of queries
// and of its results (LatentSpec).
//
// A head's part of all rows becomes a matrix of its own, as its product reads it. Owned by the attention; one step uses
// it at a time, and nothing allocates in it.
#pragma once

#include "cpu/compute_context.h"
#include "cpu/weights.h"
#include "kv/layer_range.h"
#include "model/config.h"

namespace octavo {

/// The parts that heads have of rows.
template <class Float>
struct HeadParts {
  Float* first;             // of the first row and head
  std::int64_t row_stride;  // floats from one row to the next
  std::int64_t head_step;   // from one head to the next
};

class HeadProducts {
 public:
  /// Has room for the largest of some layers; none where they have none. The context must outlive it.
  HeadProducts(const ModelConfig& config, const Weights& weights, ComputeContext& context, LayerRange layers);

  /// y = w x, for each head and row.
  void multiply(const ExpertMatrices& w, const HeadParts<const float>& x, int rows, const HeadParts<float>& y);

 private:
  /// Copies each head's part of the rows, or makes the form that products read.
  void gather(const ExpertMatrices& w, const HeadParts<const float>& x, int rows);

  ComputeContext& context_;
  AlignedBuffer<float> floats_;  // [heads][rows, columns], where a product wants floats
  QuantizedRows quantized_;      // likewise, where it wants another form
};

}  // namespace octavo
