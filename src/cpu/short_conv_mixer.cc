#include "cpu/short_conv_mixer.h"

#include <algorithm>
#include <array>

#include "base/to_size.h"
#include "model/largest.h"
#include "model/model_runner.h"

namespace octavo {
namespace {

/// Channels that are one thread's at a time: whole cache lines, and few enough that a token's are shared out.
constexpr int kChannelsOfItem = 256;

void multiply_rows(float* x, const float* y, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) x[i] *= y[i];
}

}  // namespace

RowForms ShortConvMixer::forms(const ShortConvWeights& w) {
  return w.in_gate.forms() | w.out_gate.forms() | w.value.forms();
}

ShortConvMixer::ShortConvMixer(const ModelConfig& config, const Weights& weights, SnapshotArena& snapshots,
                               ComputeContext& context, ResidualStream& stream, LayerRange layers)
    : context_(context),
      stream_(stream),
      snapshots_(snapshots),
      layers_(config.layers.size()),
      planned_(context.max_rows),
      zeros_(
          AlignedBuffer<float>::zeroed(to_size(largest<ShortConvSpec>(config.layers, layers, &ShortConvSpec::width)))),
      inputs_(context.make_rows(largest<ShortConvSpec>(config.layers, layers, &ShortConvSpec::width))),
      mixed_(inputs_.size()),
      in_gates_(inputs_.size()),
      gated_(inputs_.size()) {
  for (std::size_t i = 0; i < layers_.size(); ++i) {
    const ShortConvSpec* spec = config.layers[i].short_conv();
    if (spec == nullptr || !layers.contains(static_cast<int>(i))) continue;
    layers_[i] = {.spec = spec,
                  .weights = &std::get<ShortConvWeights>(weights.layers[i].mixer),
                  .kept_inputs = AlignedBuffer<float>(to_size(kMaxDraftedRows * spec->width))};
  }
}

void ShortConvMixer::plan(const Batch& batch) {
  if (zeros_.size() > 0) planned_.plan(batch);  // a layer of them is a convolution
}

template <class Body>
void ShortConvMixer::for_channels(int width, const Body& body) {
  const std::size_t items = to_size((width + kChannelsOfItem - 1) / kChannelsOfItem);
  context_.pool.for_ranges(planned_.ranges().size() * items, 1,
                           [&](std::size_t begin, std::size_t end, int /*worker*/) {
                             for (std::size_t i = begin; i < end; ++i) {
                               const int first = static_cast<int>(i % items) * kChannelsOfItem;
                               body(planned_.ranges()[i / items], first, std::min(kChannelsOfItem, width - first));
                             }
                           });
}

ConvolutionRows ShortConvMixer::rows_of(const Layer& layer, const float* inputs, std::int64_t width) const {
  return {
      .rows = inputs, .zeros = zeros_.data(), .stride = layer.spec->width, .width = width, .taps = layer.spec->taps};
}

void ShortConvMixer::advance_states(std::span<const StateAdvance> advances) {
  if (zeros_.size() == 0) return;
  planned_.plan_advances(advances);
  if (planned_.ranges().empty()) return;
  context_.enter(StepPart::kRecurrence);
  for (std::size_t i = 0; i < layers_.size(); ++i) {
    const Layer& layer = layers_[i];
    if (layer.spec == nullptr) continue;
    for_channels(layer.spec->width, [&](Range range, int first, int width) {
      float* state = snapshots_.state(range.state_slot, static_cast<int>(i));
      range.first_row = range.first_kept;
      rows_of(layer, layer.kept_inputs.data() + first, width).keep(range, state + first);
    });
  }
}

void ShortConvMixer::write_state(int index, const StepRows& rows) {
  const ShortConvWeights& w = *layers_[to_size(index)].weights;
  const std::array<Product, 2> products = {{{&w.in_gate, in_gates_.data()}, {&w.value, inputs_.data()}}};
  context_.enter(StepPart::kMixerInput);
  context_.multiply(products, stream_.input(), rows.count());
  advance(index);
}

void ShortConvMixer::run(int index, const StepRows& rows, bool state_written, const Epilogue& epilogue) {
  const Layer& layer = layers_[to_size(index)];
  const ShortConvWeights& w = *layer.weights;
  const int count = rows.count(), width = layer.spec->width;
  const std::array<Product, 3> products = {
      {{&w.out_gate, gated_.data()}, {&w.in_gate, in_gates_.data()}, {&w.value, inputs_.data()}}};
  context_.enter(StepPart::kMixerInput);
  context_.multiply(std::span(products).first(state_written ? 1 : 3), stream_.input(), count);
  if (!state_written) advance(index);
  context_.enter(StepPart::kRows);
  context_.for_rows_apart(count, [&](std::int64_t row, int) {
    multiply_rows(gated_.data() + row * width, mixed_.data() + rows.batch_row(row) * width, width);
  });
  stream_.finish_mixer(w.output, gated_.data(), count, epilogue, [](std::int64_t) {});
}

/// Runs the convolution on the products of all rows, up to its results.
void ShortConvMixer::advance(int index) {
  Layer& layer = layers_[to_size(index)];
  context_.enter(StepPart::kRecurrence);
  for_channels(layer.spec->width, [&](const Range& range, int first, int width) {
    advance_channels(layer, range, snapshots_.state(range.state_slot, index), first, width);
  });
}

/// The convolution over some channels of a sequence's rows. Its state goes on by those that are known, and those that
/// are drafted are kept.
void ShortConvMixer::advance_channels(Layer& layer, const Range& range, float* state, int first, int width) {
  const std::int64_t stride = layer.spec->width;
  const ConvolutionRows rows = rows_of(layer, inputs_.data() + first, width);
  const float* taps = layer.weights->taps + first;
  for (std::int64_t row = range.first_row; row < range.first_row + range.num_rows; ++row) {
    const std::int64_t at = row * stride + first;
    multiply_rows(inputs_.data() + at, in_gates_.data() + at, width);
    const ConvolutionRows::Inputs x = rows.of_row(range, state + first, row);
    float* y = mixed_.data() + at;
    for (std::int64_t i = 0; i < width; ++i) y[i] = taps[i] * x[0][i];
    for (int tap = 1; tap < rows.taps; ++tap)
      for (std::int64_t i = 0; i < width; ++i) y[i] += taps[tap * stride + i] * x[to_size(tap)][i];
  }
  rows.keep(range, state + first);
  for (int i = 0; i < range.num_drafted; ++i)
    std::copy_n(inputs_.data() + (range.first_row + range.num_known() + i) * stride + first, width,
                layer.kept_inputs.data() + (range.first_kept + i) * stride + first);
}

}  // namespace octavo
