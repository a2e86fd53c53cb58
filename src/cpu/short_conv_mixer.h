// A short convolution as a layer's mixer: three projections, the convolution between two gates, and the output matrix.
//
// A sequence's state, the convolution's last inputs, is read and written where it lies. Inputs of drafted tokens are
// kept; once it is known how many were right, advance_states() runs them through the state itself. Owned by the
// processor's stage; it plans a step once and runs it for every layer that has one.
#pragma once

#include <span>
#include <vector>

#include "cpu/convolution_rows.h"
#include "cpu/residual_stream.h"
#include "cpu/weights.h"
#include "kv/layer_range.h"
#include "kv/snapshot_arena.h"
#include "model/batch.h"
#include "stage/recurrent_rows.h"
#include "stage/step_rows.h"

namespace octavo {

class ShortConvMixer {
 public:
  /// For some of a model's layers, whose states lie in the arena. All references must outlive it.
  ShortConvMixer(const ModelConfig& config, const Weights& weights, SnapshotArena& snapshots, ComputeContext& context,
                 ResidualStream& stream, LayerRange layers = {});

  /// Runs kept rows through the states. The next plan() comes after it.
  void advance_states(std::span<const StateAdvance> advances);
  /// Notes which rows of the batch are whose. Once a step.
  void plan(const Batch& batch);

  /// The convolution over all rows of the batch, whose normed input is in the stream.
  void write_state(int layer, const StepRows& rows);
  /// The whole mixer. `state_written`: write_state() was called for this layer.
  void run(int layer, const StepRows& rows, bool state_written, const Epilogue& epilogue);

  /// The forms in which matrices read the mixer's input.
  static RowForms forms(const ShortConvWeights& w);

 private:
  struct Layer {
    const ShortConvSpec* spec = nullptr;  // nullptr: the layer has another mixer, or lies elsewhere
    const ShortConvWeights* weights = nullptr;
    AlignedBuffer<float> kept_inputs = {};  // [kMaxDraftedRows, width] of the convolution
  };
  using Range = RecurrentRows::Range;

  /// Calls body(range, first, width) for all sequences and channels, on all threads.
  template <class Body>
  void for_channels(int width, const Body& body);
  /// `inputs`: [rows, width], from a channel on; `width` channels.
  ConvolutionRows rows_of(const Layer& layer, const float* inputs, std::int64_t width) const;
  void advance(int layer);
  void advance_channels(Layer& layer, const Range& range, float* state, int first, int width);

  ComputeContext& context_;
  ResidualStream& stream_;
  SnapshotArena& snapshots_;
  std::vector<Layer> layers_;            // [num_layers]
  RecurrentRows planned_;                // of the step, or of an advance
  AlignedBuffer<float> zeros_;           // [width] the convolution's inputs before a sequence
  AlignedBuffer<float> inputs_, mixed_;  // [rows, width]: before and behind the convolution
  AlignedBuffer<float> in_gates_;        // [rows, width]
  AlignedBuffer<float> gated_;           // [rows, width]: the gates behind the convolution, then the result
};

}  // namespace octavo
