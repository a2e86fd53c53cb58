#include "cpu/head_recurrence.h"

#include <algorithm>

#include "base/math.h"
#include "base/to_size.h"
#include "model/model_runner.h"

namespace octavo {
namespace {

/// The largest size(states) of the layers; 0: there is none.
template <class Layers, class Size>
int largest_of(const Layers& layers, const Size& size) {
  int most = 0;
  for (const auto& layer : layers)
    if (layer.states) most = std::max(most, static_cast<int>(size(*layer.states)));
  return most;
}

int channels(const HeadStates& states) { return states.sizes().num_channels; }
int gates(const HeadStates& states) { return 2 * states.sizes().num_heads; }

}  // namespace

double softplus(double x) { return x > 30 ? x : portable::log1p(portable::exp(x)); }

HeadRecurrence::HeadRecurrence(SnapshotArena& snapshots, ComputeContext& context, const std::vector<Layer>& layers)
    : snapshots_(snapshots),
      context_(context),
      layers_(layers.size()),
      planned_(context.max_rows),
      zeros_(AlignedBuffer<float>::zeroed(to_size(largest_of(layers, channels)))),
      inputs_(context.make_rows(largest_of(layers, channels))),
      mixed_(inputs_.size()),
      gates_(context.make_rows(largest_of(layers, gates))),
      piece_floats_(to_size(largest_of(layers, [](const HeadStates& states) { return states.piece_floats(); }))),
      ahead_(to_size(context.pool.num_threads()) * piece_floats_) {
  for (std::size_t i = 0; i < layers.size(); ++i) {
    layers_[i].own = layers[i];
    if (!layers[i].states) continue;
    layers_[i].kept_inputs = AlignedBuffer<float>(to_size(kMaxDraftedRows * channels(*layers[i].states)));
    layers_[i].kept_gates = AlignedBuffer<float>(to_size(kMaxDraftedRows * gates(*layers[i].states)));
  }
}

void HeadRecurrence::plan(const Batch& batch) {
  if (zeros_.size() > 0) planned_.plan(batch);  // a layer is recurrent
}

void HeadRecurrence::advance_states(std::span<const StateAdvance> advances) {
  if (zeros_.size() == 0) return;
  planned_.plan_advances(advances);
  if (planned_.ranges().empty()) return;
  context_.enter(StepPart::kRecurrence);
  for (std::size_t i = 0; i < layers_.size(); ++i) {
    const KeptLayer& layer = layers_[i];
    if (!layer.own.states) continue;
    const int index = static_cast<int>(i);
    context_.for_rows(planned_.count(), [&](std::int64_t row, int) { load_kept(layer, planned_.range_of(row), row); });
    context_.for_rows(planned_.count(), [&](std::int64_t row, int) { convolve(index, row); });
    run_pieces(index);
  }
}

ConvolutionRows HeadRecurrence::rows_of(const HeadStates& states) const {
  return {.rows = inputs_.data(),
          .zeros = zeros_.data(),
          .stride = channels(states),
          .width = channels(states),
          .taps = states.sizes().taps};
}

/// Loads a row's inputs and gates as they were when the row was computed first.
void HeadRecurrence::load_kept(const KeptLayer& layer, const Range& range, std::int64_t row) {
  const auto width = to_size(channels(*layer.own.states)), num_gates = to_size(gates(*layer.own.states));
  const std::size_t at = to_size(row), kept = to_size(range.first_kept) + at - to_size(range.first_row);
  std::copy_n(layer.kept_inputs.data() + kept * width, width, inputs_.data() + at * width);
  std::copy_n(layer.kept_gates.data() + kept * num_gates, num_gates, gates_.data() + at * num_gates);
}

void HeadRecurrence::keep_drafted(KeptLayer& layer, const Range& range) {
  const auto width = to_size(channels(*layer.own.states)), num_gates = to_size(gates(*layer.own.states));
  const std::size_t row = to_size(range.first_row + range.num_known()), count = to_size(range.num_drafted);
  const std::size_t kept = to_size(range.first_kept);
  std::copy_n(inputs_.data() + row * width, count * width, layer.kept_inputs.data() + kept * width);
  std::copy_n(gates_.data() + row * num_gates, count * num_gates, layer.kept_gates.data() + kept * num_gates);
}

void HeadRecurrence::advance(int index) {
  context_.enter(StepPart::kRecurrence);
  // The gates of few rows are found beside their convolutions.
  context_.for_rows_apart(2 * planned_.count(), [&](std::int64_t item, int) {
    if (item % 2 == 1) {
      find_gates(index, item / 2);
    } else {
      convolve(index, item / 2);
    }
  });
  run_pieces(index);
}

/// Runs the recurrence on the inputs and the gates of all rows, up to its results.
void HeadRecurrence::run_pieces(int index) {
  KeptLayer& layer = layers_[to_size(index)];
  const HeadStates& states = *layer.own.states;
  // One item more of each sequence keeps the inputs of its last rows.
  const std::size_t items = to_size(states.sizes().num_heads * states.num_pieces()) + 1;
  context_.pool.for_ranges(planned_.ranges().size() * items, 1, [&](std::size_t begin, std::size_t end, int worker) {
    for (std::size_t i = begin; i < end; ++i) {
      const Range& range = planned_.ranges()[i / items];
      float* state = snapshots_.state(range.state_slot, index);
      if (i % items == 0) {
        rows_of(states).keep(range, states.inputs(state));
        keep_drafted(layer, range);
      } else {
        advance_piece(index, range, state, static_cast<int>(i % items) - 1, worker);
      }
    }
  });
}

/// A row behind the convolution.
void HeadRecurrence::convolve(int index, std::int64_t row) {
  const Layer& layer = layers_[to_size(index)].own;
  const HeadStates& states = *layer.states;
  const Range& range = planned_.range_of(row);
  const float* before = states.inputs(snapshots_.state(range.state_slot, index));
  const ConvolutionRows::Inputs x = rows_of(states).of_row(range, before, row);
  float* y = mixed(index, row);
  context_.kernels.short_conv(x.data(), layer.taps, layer.taps_bias, states.sizes().taps, channels(states), y);
  finish_convolved(index, y);
}

/// The recurrence over a sequence's rows, in a piece of a head's state; over drafted ones in a copy of it.
void HeadRecurrence::advance_piece(int index, const Range& range, float* state, int item, int worker) {
  const HeadStates& states = *layers_[to_size(index)].own.states;
  const int head = item / states.num_pieces(), number = item % states.num_pieces();
  float* piece = states.piece(state, head, number);
  HeadRows rows{
      .first_row = range.first_row, .num_rows = range.num_known(), .head = head, .column = number * kStateColumns};
  if (range.begins) std::fill_n(piece, states.piece_floats(), 0.0F);
  run_rule(index, rows, piece);
  if (range.num_drafted == 0) return;
  float* ahead = ahead_.data() + to_size(worker) * piece_floats_;
  std::copy_n(piece, states.piece_floats(), ahead);
  rows.first_row += range.num_known();
  rows.num_rows = range.num_drafted;
  run_rule(index, rows, ahead);
}

}  // namespace octavo
