// The dense feed-forward of a layer: down(activation(gate x) * (up x)), each product with a bias where a file has one.
//
// Owned by the transformer; one step uses it at a time. Experts that compute every row are computed by it too.
#pragma once

#include "cpu/residual_stream.h"
#include "cpu/weights.h"

namespace octavo {

class DenseFfn {
 public:
  /// For feed-forwards of at most so many units. Both references must outlive it.
  DenseFfn(int most_units, ComputeContext& context, ResidualStream& stream);
  DenseFfn(const ModelConfig& config, ComputeContext& context, ResidualStream& stream);

  void run(const DenseFfnSpec& spec, const DenseFfnWeights& w, int rows, const Epilogue& epilogue);
  /// The result for the stream's h, but for the bias of down, into `out`, [rows, width of the model], and nothing else.
  void compute(const DenseFfnSpec& spec, const DenseFfnWeights& w, int rows, float* out);

  std::size_t size_bytes() const {
    return gated_.size_bytes() + gated_scratch_.size_bytes() + gated_int8_.size_bytes();
  }

  /// True if a matrix wants the feed-forward's input in int8.
  static bool reads_int8(const DenseFfnWeights& w) { return w.gate.reads_int8() || w.up.reads_int8(); }

 private:
  ComputeContext& context_;
  ResidualStream& stream_;
  AlignedBuffer<float> gated_;          // [rows, width]  activation(gate) * up, where a product wants floats
  AlignedBuffer<float> gated_scratch_;  // [threads][gated_scratch_floats] (cpu/multiply.h)
  QuantizedRows gated_int8_;
};

}  // namespace octavo
