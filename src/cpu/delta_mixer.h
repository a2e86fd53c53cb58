// A gated delta net as a layer's mixer: projections, short convolution, the recurrence token by token, the gated norm
// and the output matrix. Owned by the processor's stage.
#pragma once

#include <vector>

#include "cpu/head_recurrence.h"
#include "cpu/residual_stream.h"
#include "cpu/weights.h"
#include "kv/layer_range.h"
#include "stage/step_rows.h"

namespace octavo {

class DeltaMixer : public HeadRecurrence {
 public:
  /// For some of a model's layers, whose states lie in the arena. All references must outlive it.
  DeltaMixer(const ModelConfig& config, const Weights& weights, SnapshotArena& snapshots, ComputeContext& context,
             ResidualStream& stream, LayerRange layers = {});

  /// The recurrence over all rows of the batch, whose normed input is in the stream.
  void write_state(int layer, const StepRows& rows);
  /// The whole mixer. `state_written`: write_state() was called for this layer.
  void run(int layer, const StepRows& rows, bool state_written, const Epilogue& epilogue);

  /// The forms in which matrices read the mixer's input.
  static RowForms forms(const DeltaWeights& w);

 private:
  struct DeltaLayer {
    const DeltaSpec* spec = nullptr;  // nullptr: the layer has another mixer, or lies elsewhere
    const DeltaWeights* weights = nullptr;
    std::vector<float> q_norm = {},
                       k_norm = {};  // [key_dim] weights that make of an RMSNorm the norm that this mixer has
  };

  void finish_convolved(int layer, float* row) override;
  void find_gates(int layer, std::int64_t row) override;
  void run_rule(int layer, const HeadRows& rows, float* piece) override;
  void gate_result(int layer, std::int64_t batch_row, std::int64_t row);

  const ModelConfig& config_;
  ComputeContext& context_;
  ResidualStream& stream_;
  std::vector<DeltaLayer> layers_;     // [num_layers]
  AlignedBuffer<float> decay_, beta_;  // [rows, num_value_heads]
  AlignedBuffer<float> gated_;         // [rows, value_width]
};

}  // namespace octavo
