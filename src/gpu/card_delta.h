// A gated delta net as a layer's mixer on the card (cpu/delta_mixer.h), with the states of its layers in all snapshots,
// under the ids that the processor has for them.
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
  /// Allocates the states of a stage's layers, what drafted rows keep, and the rows of a step; nothing where no layer
  /// is recurrent. Error: the card has not enough memory.
  static Result<CardDelta> create(CardContext& context, const ModelConfig& config, const StateRoom& room,
                                  LayerRange layers, const CardWeights& weights, int max_rows);
  /// The bytes of a layer's states, and of what its drafted rows keep.
  static std::uint64_t state_bytes(const ModelConfig& config, const StateRoom& room, int layer);
  /// The bytes of all other memory.
  static std::uint64_t scratch_bytes(const ModelConfig& config, int max_rows);

  void copy_snapshots(std::span<const BlockCopy> copies);
  void advance_states(std::span<const StateAdvance> advances);
  /// Runs the recurrence over all rows of the batch, whose normed input is `h`.
  void write_state(int layer, const CardLayerWeights& weights, const CardStep& step, const float* h);
  /// Runs the whole mixer, in place: `h` becomes the output matrix's result. `state_written`: write_state() was called.
  void run(int layer, const CardLayerWeights& weights, const CardStep& step, bool state_written, float* h);

 private:
  struct Layer {
    const DeltaSpec* spec = nullptr;  // null: the layer has another mixer
    float* states = nullptr;          // the state of slot 0
    const float* taps = nullptr;
    CardMemory kept_inputs = {}, kept_gates = {};  // what drafted rows keep
  };
  /// The rows that go through the states.
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
  /// Runs the recurrence on the convolution's results, then keeps the inputs.
  void run_rule(const Layer& layer, const Rows& rows);
  void gate_results(const DeltaSpec& spec, const DeltaTensors<CardForm>& w, const CardStep& step);

  CardContext* context_;
  const ModelConfig* config_;
  const StateLayout* layout_;
  std::vector<Layer> layers_;  // [layers of the model up to the stage's last one]
  std::size_t stride_ = 0;     // the bytes of a snapshot's states on this card
  CardMemory states_;          // [snapshots], each of stride_ bytes
  CardMemory inputs_, mixed_;  // [max_rows, channels]
  CardMemory decay_, beta_;    // [max_rows, value heads]
  CardMemory gates_;           // [max_rows, value heads, 2]
  CardMemory gated_;           // [max_rows, value width]
  RecurrentRows right_;        // the drafted rows that turned out right, in an advance
  StepArrays advance_arrays_;
};

}  // namespace octavo::gpu
