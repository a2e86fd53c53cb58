// The dense feed-forward of a layer: down(activation(gate x) * (up x)); products may have a bias.
//
// Owned by the transformer; one step uses it at a time. It also computes the shared experts of a mixture.
#pragma once

#include "cpu/residual_stream.h"
#include "cpu/weights.h"

namespace octavo {

class DenseFfn {
 public:
  /// Makes room for feed-forwards of at most `most_units` units. Both references must outlive it.
  DenseFfn(int most_units, ComputeContext& context, ResidualStream& stream);
  DenseFfn(const ModelConfig& config, ComputeContext& context, ResidualStream& stream);

  void run(const DenseFfnSpec& spec, const DenseFfnWeights& w, int rows, const Epilogue& epilogue);
  /// Computes the result for the stream's h into `out`, [rows, width of the model], without the bias of down.
  void compute(const DenseFfnSpec& spec, const DenseFfnWeights& w, int rows, float* out);

  std::size_t size_bytes() const {
    return gated_.size_bytes() + gated_scratch_.size_bytes() + gated_quantized_.size_bytes();
  }

  /// The forms in which matrices read the feed-forward's input.
  static RowForms forms(const DenseFfnWeights& w) { return w.gate.forms() | w.up.forms(); }

 private:
  ComputeContext& context_;
  ResidualStream& stream_;
  AlignedBuffer<float> gated_;          // [rows, width] activation(gate) * up, for a product of floats
  AlignedBuffer<float> gated_scratch_;  // [threads][gated_scratch_floats] (cpu/multiply.h)
  QuantizedRows gated_quantized_;
};

}  // namespace octavo
