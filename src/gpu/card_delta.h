// A gated delta net as a layer's mixer on the card (cpu/delta_mixer.h), with the states of its layers: those of all
// snapshots, under the processor's ids.
//
// Owned by CardStage.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "gpu/card_context.h"
#include "gpu/card_step.h"
#include "gpu/kernels/delta_arguments.h"
#include "kv/state_layout.h"
#include "model/model_runner.h"
#include "stage/recurrent_rows.h"

namespace octavo::gpu {

class CardDelta {
 public:
  /// Takes the memory of the states of a stage's layers, of what drafted rows keep, and of the rows of a step: none
  /// where no layer is recurrent. Error: the card has no memory.
  static Result<CardDelta> create(CardContext& context, const ModelConfig& config, const StateRoom& room,
                                  LayerRange layers, const CardWeights& weights, int max_rows);
  /// Bytes of a layer's states, and of what its drafted rows keep.
  static std::uint64_t state_bytes(const ModelConfig& config, const StateRoom& room, int layer);
  /// Bytes of all else.
  static std::uint64_t scratch_bytes(const ModelConfig& config, int max_rows);

  void copy_snapshots(std::span<const BlockCopy> copies);
  void advance_states(std::span<const StateAdvance> advances);
  /// The recurrence over all rows of the batch, whose normed input is `h`.
  void write_state(int layer, const CardLayerWeights& weights, const CardStep& step, const float* h);
  /// The whole mixer: `h` becomes the output matrix's result. `state_written`: write_state() was called.
  void run(int layer, const CardLayerWeights& weights, const CardStep& step, bool state_written, float* h);

 private:
  struct Layer {
    const DeltaSpec* spec = nullptr;  // null: the layer has another mixer
    float* states = nullptr;          // of slot 0
    const float* taps = nullptr;
    CardMemory kept_inputs = {}, kept_gates = {};  // of drafted rows
  };
  /// Rows that go through states.
  struct Rows {
    CardRanges ranges;
    int count;
    const float *inputs, *gates;
  };

  CardDelta(CardContext& context, const ModelConfig& config, const StateLayout& layout)
      : context_(&context),
        config_(&config),
        layout_(&layout),
        right_(kMaxDraftedRows),
        advance_arrays_(context.device) {}
  DeltaLayer delta_layer(const Layer& layer, const CardRanges& ranges) const;
  void advance(int layer, const DeltaTensors<CardForm>& w, const CardStep& step, const float* h);
  void convolve(const Layer& layer, const Rows& rows);
  void find_gates(const Layer& layer, const DeltaTensors<CardForm>& w, int rows);
  /// The recurrence behind the convolution; then inputs are kept.
  void run_rule(const Layer& layer, const Rows& rows);
  void gate_results(const DeltaSpec& spec, const DeltaTensors<CardForm>& w, const CardStep& step);

  CardContext* context_;
  const ModelConfig* config_;
  const StateLayout* layout_;
  std::vector<Layer> layers_;  // [layers of the model up to the last one]
  std::size_t stride_ = 0;     // bytes of a snapshot's states that lie here
  CardMemory states_;          // [snapshots] of stride_ bytes
  CardMemory inputs_, mixed_;  // [max_rows, channels]
  CardMemory decay_, beta_;    // [max_rows, value heads]
  CardMemory gates_;           // [max_rows, value heads, 2]
  CardMemory gated_;           // [max_rows, value width]
  RecurrentRows right_;        // of drafted ones, in an advance
  StepArrays advance_arrays_;
};

}  // namespace octavo::gpu
