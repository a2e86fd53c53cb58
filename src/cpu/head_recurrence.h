// The part that recurrent mixers with a state for each head share: a short convolution of products, and a rule that
// takes its rows through the states, a piece of a head at a time.
//
// A sequence's state is read and written where it lies. Every token goes through the same operations in the same order
// however it came, so a state has the same bits for every chunking. Rows of drafted tokens go through them on a copy, a
// piece of a head at a time, and what they bring is kept; once it is known how many were right, advance_states() runs
// that through the state itself. A mixer is one; it plans a step once and runs it for every layer that it has.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "cpu/compute_context.h"
#include "cpu/convolution_rows.h"
#include "cpu/weights.h"
#include "kv/layer_range.h"
#include "kv/snapshot_arena.h"
#include "model/batch.h"
#include "model/head_states.h"
#include "stage/recurrent_rows.h"

namespace octavo {

/// ln(1 + e^x) by the project's own functions, with native bits, too; as a float it is x above 20.
double softplus(double x);

class HeadRecurrence {
 public:
  HeadRecurrence(const HeadRecurrence&) = delete;
  HeadRecurrence& operator=(const HeadRecurrence&) = delete;

  /// Runs kept rows through the states. The next plan() comes after it.
  void advance_states(std::span<const StateAdvance> advances);
  /// Notes which rows of the batch are whose. Once a step.
  void plan(const Batch& batch);

 protected:
  /// A layer's recurrence; none where the layer has another mixer, or lies elsewhere.
  struct Layer {
    std::optional<HeadStates> states = {};
    const float* taps = nullptr;       // [taps][num_channels], the last one of the token itself
    const float* taps_bias = nullptr;  // [num_channels]; nullptr: none
  };
  /// Consecutive rows of a sequence in the columns of a head from one on.
  struct HeadRows {
    int first_row, num_rows;
    int head, column;
  };

  /// [num_layers] of the layers that have such a mixer, whose spec and weights the functions give.
  template <class Spec, class Tensors>
  static std::vector<Layer> recurrences(const ModelConfig& config, const Weights& weights, LayerRange layers,
                                        const Spec* (LayerSpec::*spec)() const,
                                        const Tensors* (*weights_of)(const ModelConfig&, const Weights&, LayerRange,
                                                                     std::size_t)) {
    std::vector<Layer> all(config.layers.size());
    for (std::size_t i = 0; i < all.size(); ++i) {
      const Tensors* w = weights_of(config, weights, layers, i);
      if (w == nullptr) continue;
      all[i] = {.states = states_of(*(config.layers[i].*spec)()), .taps = w->taps};
      if constexpr (requires { w->taps_bias; }) all[i].taps_bias = w->taps_bias;
    }
    return all;
  }
  /// `layers`: [num_layers]. Both references must outlive it.
  HeadRecurrence(SnapshotArena& snapshots, ComputeContext& context, const std::vector<Layer>& layers);
  ~HeadRecurrence() = default;

  /// Runs a layer's recurrence on the products of all rows, up to its results.
  void advance(int layer);

  // Rows of the step, sequence by sequence, of the layer under way.
  /// [rows, num_channels], in front of the convolution.
  float* inputs() { return inputs_.data(); }
  /// [num_channels], behind it; then what goes through the states becomes the result.
  float* mixed(int layer, std::int64_t row) { return mixed_.data() + row * channels_of(layer); }
  /// [num_heads] pairs of numbers.
  float* gates_at(int layer, std::int64_t row) { return gates_.data() + row * gates_of(layer); }
  int channels_of(int layer) const { return layers_[to_size(layer)].own.states->sizes().num_channels; }
  int gates_of(int layer) const { return 2 * layers_[to_size(layer)].own.states->sizes().num_heads; }

 private:
  using Range = RecurrentRows::Range;
  struct KeptLayer {
    Layer own;
    AlignedBuffer<float> kept_inputs = {};  // [kMaxDraftedRows, num_channels] before the convolution
    AlignedBuffer<float> kept_gates = {};   // [kMaxDraftedRows, num_heads, 2]
  };

  /// Finishes a row of the convolution's results before the states read it.
  virtual void finish_convolved(int /*layer*/, float* /*row*/) {}
  /// The pairs of numbers that a row's step of each head has, of the products.
  virtual void find_gates(int layer, std::int64_t row) = 0;
  /// Takes rows through a piece of a head's state; the part of them that goes through it becomes the result.
  virtual void run_rule(int layer, const HeadRows& rows, float* piece) = 0;

  ConvolutionRows rows_of(const HeadStates& states) const;
  void load_kept(const KeptLayer& layer, const Range& range, std::int64_t row);
  void keep_drafted(KeptLayer& layer, const Range& range);
  void convolve(int layer, std::int64_t row);
  void run_pieces(int layer);
  void advance_piece(int layer, const Range& range, float* state, int item, int worker);

  SnapshotArena& snapshots_;
  ComputeContext& context_;
  std::vector<KeptLayer> layers_;        // [num_layers]
  RecurrentRows planned_;                // of the step, or of an advance
  AlignedBuffer<float> zeros_;           // [num_channels] the convolution's inputs before a sequence
  AlignedBuffer<float> inputs_, mixed_;  // [rows, num_channels]: before and behind the convolution
  AlignedBuffer<float> gates_;           // [rows, num_heads, 2]
  std::size_t piece_floats_;             // the largest piece of a state
  AlignedBuffer<float> ahead_;           // [threads, piece_floats_] a piece behind drafted rows
};

}  // namespace octavo
