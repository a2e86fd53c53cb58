// A gated delta net as a layer's mixer: projections, short convolution, the recurrence token by token, the gated norm
// and the output matrix.
//
// A sequence's state is read and written where it lies. Every token goes through the same operations in the same order
// however it came, so a state has the same bits for every chunking. Rows of drafted tokens go through them on a copy, a
// piece of a head at a time, and what they bring is kept; once it is known how many were right, advance_states() runs
// that through the state itself. Owned by the transformer; it plans a step once and runs it for every recurrent layer.
#pragma once

#include <span>
#include <vector>

#include "cpu/convolution_rows.h"
#include "cpu/residual_stream.h"
#include "cpu/weights.h"
#include "kv/layer_range.h"
#include "kv/snapshot_arena.h"
#include "model/batch.h"
#include "model/delta_state.h"
#include "stage/recurrent_rows.h"
#include "stage/step_rows.h"

namespace octavo {

class DeltaMixer {
 public:
  /// For some of a model's layers, whose states lie in the arena. All references must outlive it.
  DeltaMixer(const ModelConfig& config, const Weights& weights, SnapshotArena& snapshots, ComputeContext& context,
             ResidualStream& stream, LayerRange layers = {});

  /// Runs kept rows through the states. The next plan() comes after it.
  void advance_states(std::span<const StateAdvance> advances);
  /// Notes which rows of the batch are whose. Once a step.
  void plan(const Batch& batch);

  /// The recurrence over all rows of the batch, whose normed input is in the stream.
  void write_state(int layer, const StepRows& rows);
  /// The whole mixer. `state_written`: write_state() was called for this layer.
  void run(int layer, const StepRows& rows, bool state_written, const Epilogue& epilogue);

  /// True if a matrix wants the mixer's input in int8.
  static bool reads_int8(const DeltaWeights& w);

 private:
  struct Layer {
    const DeltaSpec* spec = nullptr;  // nullptr: the layer has another mixer, or lies elsewhere
    const DeltaWeights* weights = nullptr;
    std::vector<float> q_norm = {},
                       k_norm = {};         // [key_dim] weights that make of an RMSNorm the norm that this mixer has
    AlignedBuffer<float> kept_inputs = {};  // [kMaxDraftedRows, num_channels] Q, K and V before the convolution
    AlignedBuffer<float> kept_gates = {};   // [kMaxDraftedRows, num_value_heads, 2]
  };
  using Range = RecurrentRows::Range;

  /// The convolution's inputs.
  ConvolutionRows rows_of(const DeltaSpec& spec) const;
  void advance(int index);
  void load_kept(const Layer& layer, const Range& range, std::int64_t row);
  void keep_drafted(Layer& layer, const Range& range);
  void run_pieces(int index);
  void convolve(const Layer& layer, const Range& range, const float* inputs, std::int64_t row);
  void find_gates(const Layer& layer, std::int64_t row);
  void advance_piece(const Layer& layer, const Range& range, float* state, int item, int worker);
  void run_rule(const Layer& layer, int first_row, int num_rows, int head, int column, float* piece);
  void gate_result(const Layer& layer, std::int64_t batch_row, std::int64_t row);

  const ModelConfig& config_;
  ComputeContext& context_;
  ResidualStream& stream_;
  SnapshotArena& snapshots_;
  std::vector<Layer> layers_;            // [num_layers]
  RecurrentRows planned_;                // of the step, or of an advance
  AlignedBuffer<float> zeros_;           // [num_channels] the convolution's inputs before a sequence
  AlignedBuffer<float> inputs_, mixed_;  // [rows, num_channels]: Q, K and V before and behind the convolution; then V
                                         // becomes the result
  AlignedBuffer<float> decay_, beta_;    // [rows, num_value_heads]
  AlignedBuffer<float> gates_;           // [rows, num_value_heads, 2]
  AlignedBuffer<float> gated_;           // [rows, value_width]
  std::size_t piece_floats_;             // the largest piece of a state
  AlignedBuffer<float> ahead_;           // [threads, piece_floats_] a piece behind drafted rows
};

}  // namespace octavo
