#include "cpu/delta_mixer.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "base/error.h"
#include "base/to_size.h"
#include "model/largest.h"
#include "model/model_runner.h"

namespace octavo {
namespace {

/// The largest of a size over the recurrent ones of these layers.
template <class Size>
int largest_of(const ModelConfig& config, LayerRange layers, const Size& size) {
  return largest<DeltaSpec>(layers.within(std::span(config.layers)), size);
}

double softplus(double x) { return x > 30 ? x : portable::log1p(portable::exp(x)); }

}  // namespace

bool DeltaMixer::reads_int8(const DeltaWeights& w) {
  return w.qkv.reads_int8() || w.gate.reads_int8() || w.decay.reads_int8() || w.beta.reads_int8();
}

DeltaMixer::DeltaMixer(const ModelConfig& config, const Weights& weights, SnapshotArena& snapshots,
                       ComputeContext& context, ResidualStream& stream, LayerRange layers)
    : config_(config),
      context_(context),
      stream_(stream),
      snapshots_(snapshots),
      layers_(config.layers.size()),
      planned_(context.max_rows),
      zeros_(AlignedBuffer<float>::zeroed(to_size(largest_of(config, layers, &DeltaSpec::num_channels)))),
      inputs_(context.make_rows(largest_of(config, layers, &DeltaSpec::num_channels))),
      mixed_(inputs_.size()),
      decay_(context.make_rows(largest_of(config, layers, &DeltaSpec::decay_rows))),
      beta_(context.make_rows(largest_of(config, layers, &DeltaSpec::num_value_heads))),
      gates_(2 * beta_.size()),
      gated_(context.make_rows(largest_of(config, layers, &DeltaSpec::value_width))),
      piece_floats_(
          to_size(largest_of(config, layers, [](const DeltaSpec& spec) { return spec.key_dim * kDeltaColumns; }))),
      ahead_(to_size(context.pool.num_threads()) * piece_floats_) {
  for (std::size_t i = 0; i < layers_.size(); ++i) {
    const DeltaSpec* spec = config.layers[i].delta();
    if (spec == nullptr || !layers.contains(static_cast<int>(i))) continue;
    const DeltaNorms norms(*spec);
    layers_[i] = {.spec = spec,
                  .weights = &std::get<DeltaWeights>(weights.layers[i].mixer),
                  .q_norm = std::vector<float>(to_size(spec->key_dim), norms.q_weight),
                  .k_norm = std::vector<float>(to_size(spec->key_dim), norms.k_weight),
                  .kept_inputs = AlignedBuffer<float>(to_size(kMaxDraftedRows * spec->num_channels())),
                  .kept_gates = AlignedBuffer<float>(to_size(2 * kMaxDraftedRows * spec->num_value_heads))};
  }
}

void DeltaMixer::plan(const Batch& batch) {
  if (zeros_.size() > 0) planned_.plan(batch);  // a layer of them is recurrent
}

void DeltaMixer::advance_states(std::span<const StateAdvance> advances) {
  if (zeros_.size() == 0) return;
  planned_.plan_advances(advances);
  if (planned_.ranges().empty()) return;
  context_.enter(StepPart::kRecurrence);
  for (std::size_t i = 0; i < layers_.size(); ++i) {
    const Layer& layer = layers_[i];
    if (layer.spec == nullptr) continue;
    const int index = static_cast<int>(i);
    const DeltaState shape(*layer.spec);
    context_.for_rows(planned_.count(), [&](std::int64_t row, int) { load_kept(layer, planned_.range_of(row), row); });
    context_.for_rows(planned_.count(), [&](std::int64_t row, int) {
      const Range& range = planned_.range_of(row);
      convolve(layer, range, shape.inputs(snapshots_.state(range.state_slot, index)), row);
    });
    run_pieces(index);
  }
}

ConvolutionRows DeltaMixer::rows_of(const DeltaSpec& spec) const {
  return {.rows = inputs_.data(),
          .zeros = zeros_.data(),
          .stride = spec.num_channels(),
          .width = spec.num_channels(),
          .taps = spec.taps};
}

/// Loads a row's inputs and gates as they were when the row was computed first.
void DeltaMixer::load_kept(const Layer& layer, const Range& range, std::int64_t row) {
  const std::size_t width = to_size(layer.spec->num_channels()), gates = to_size(2 * layer.spec->num_value_heads);
  const std::size_t at = to_size(row), kept = to_size(range.first_kept) + at - to_size(range.first_row);
  std::copy_n(layer.kept_inputs.data() + kept * width, width, inputs_.data() + at * width);
  std::copy_n(layer.kept_gates.data() + kept * gates, gates, gates_.data() + at * gates);
}

void DeltaMixer::keep_drafted(Layer& layer, const Range& range) {
  const std::size_t width = to_size(layer.spec->num_channels()), gates = to_size(2 * layer.spec->num_value_heads);
  const std::size_t row = to_size(range.first_row + range.num_known()), count = to_size(range.num_drafted);
  const std::size_t kept = to_size(range.first_kept);
  std::copy_n(inputs_.data() + row * width, count * width, layer.kept_inputs.data() + kept * width);
  std::copy_n(gates_.data() + row * gates, count * gates, layer.kept_gates.data() + kept * gates);
}

void DeltaMixer::write_state(int index, const StepRows& rows) {
  const DeltaWeights& w = *layers_[to_size(index)].weights;
  const std::array<Product, 3> products = {
      {{&w.qkv, inputs_.data()}, {&w.decay, decay_.data()}, {&w.beta, beta_.data()}}};
  context_.enter(StepPart::kMixerInput);
  context_.multiply(std::span(products).first(is_present(w.beta) ? 3 : 2), stream_.input(), rows.count());
  advance(index);
}

void DeltaMixer::run(int index, const StepRows& rows, bool state_written, const Epilogue& epilogue) {
  const Layer& layer = layers_[to_size(index)];
  const DeltaWeights& w = *layer.weights;
  const int count = rows.count();
  const std::array<Product, 4> products = {
      {{&w.gate, gated_.data()}, {&w.qkv, inputs_.data()}, {&w.decay, decay_.data()}, {&w.beta, beta_.data()}}};
  context_.enter(StepPart::kMixerInput);
  const std::size_t num_products = is_present(w.beta) ? 4 : 3;
  context_.multiply(std::span(products).first(state_written ? 1 : num_products), stream_.input(), count);
  if (!state_written) advance(index);
  context_.enter(StepPart::kRows);
  context_.for_rows_apart(count, [&](std::int64_t row, int) { gate_result(layer, rows.batch_row(row), row); });
  if (w.output.reads_int8()) stream_.quantize_rows(gated_.data(), layer.spec->value_width(), count);
  const Product output{&w.output, stream_.h()};
  context_.enter(StepPart::kMixerOutput);
  context_.multiply({&output, 1}, stream_.quantized(gated_.data(), layer.spec->value_width()), count);
  context_.enter(StepPart::kRows);
  stream_.finish_rows(epilogue, count, [](std::int64_t) {});
}

/// Runs the recurrence on the products of all rows, up to its results.
void DeltaMixer::advance(int index) {
  const Layer& layer = layers_[to_size(index)];
  const DeltaState shape(*layer.spec);
  context_.enter(StepPart::kRecurrence);
  // The gates of few rows are found beside their convolutions.
  context_.for_rows_apart(2 * planned_.count(), [&](std::int64_t item, int) {
    const std::int64_t row = item / 2;
    if (item % 2 == 1) return find_gates(layer, row);
    const Range& range = planned_.range_of(row);
    convolve(layer, range, shape.inputs(snapshots_.state(range.state_slot, index)), row);
  });
  run_pieces(index);
}

/// Runs the recurrence on Q, K, V and the gates of all rows, up to its results.
void DeltaMixer::run_pieces(int index) {
  Layer& layer = layers_[to_size(index)];
  const DeltaState shape(*layer.spec);
  // One item more of each sequence keeps the inputs of its last rows.
  const std::size_t items = to_size(layer.spec->num_value_heads * shape.num_pieces()) + 1;
  context_.pool.for_ranges(planned_.ranges().size() * items, 1, [&](std::size_t begin, std::size_t end, int worker) {
    for (std::size_t i = begin; i < end; ++i) {
      const Range& range = planned_.ranges()[i / items];
      float* state = snapshots_.state(range.state_slot, index);
      if (i % items == 0) {
        rows_of(*layer.spec).keep(range, shape.inputs(state));
        keep_drafted(layer, range);
      } else {
        advance_piece(layer, range, state, static_cast<int>(i % items) - 1, worker);
      }
    }
  });
}

/// Q, K and V of a row behind the convolution, and the norms of the heads of Q and K. `inputs`: of the rows before the
/// step's, as the state keeps them.
void DeltaMixer::convolve(const Layer& layer, const Range& range, const float* inputs, std::int64_t row) {
  const DeltaSpec& spec = *layer.spec;
  const std::int64_t width = spec.num_channels();
  const ConvolutionRows::Inputs x = rows_of(spec).of_row(range, inputs, row);
  float* y = mixed_.data() + row * width;
  const KernelTable& kernels = context_.kernels;
  kernels.short_conv(x.data(), layer.weights->taps, spec.taps, width, y);
  const int dim = spec.key_dim;
  const float epsilon = DeltaNorms(spec).epsilon;
  for (int head = 0; head < 2 * spec.num_key_heads; ++head, y += dim)
    kernels.rms_norm(y, (head < spec.num_key_heads ? layer.q_norm : layer.k_norm).data(), dim, epsilon, y);
}

// The functions are the project's own with native bits, too, so that a card has the same gates.
void DeltaMixer::find_gates(const Layer& layer, std::int64_t row) {
  const DeltaSpec& spec = *layer.spec;
  const int heads = spec.num_value_heads, of_key_head = heads / spec.num_key_heads;
  const float* decays = decay_.data() + row * spec.decay_rows();
  float* gates = gates_.data() + 2 * row * heads;
  for (int head = 0; head < heads; ++head, gates += 2) {
    // Where betas lie among decays, a key head's are in front of its decays.
    const int place = spec.by_key_head ? head + (head / of_key_head + 1) * of_key_head : head;
    const float beta = spec.by_key_head ? decays[place - of_key_head] : beta_[to_size(row * heads + head)];
    const double step = softplus(static_cast<double>(decays[place] + layer.weights->decay_bias[head]));
    gates[0] = static_cast<float>(portable::exp(static_cast<double>(layer.weights->decay_scale[head]) * step));
    gates[1] = static_cast<float>(1 / (1 + portable::exp(-static_cast<double>(beta))));
  }
}

/// The recurrence over a sequence's rows, in a piece of a head's state; over drafted ones in a copy of it.
void DeltaMixer::advance_piece(const Layer& layer, const Range& range, float* state, int item, int worker) {
  const DeltaState shape(*layer.spec);
  const int head = item / shape.num_pieces(), index = item % shape.num_pieces(), column = index * kDeltaColumns;
  float* piece = shape.piece(state, head, index);
  if (range.begins) std::fill_n(piece, shape.piece_floats(), 0.0F);
  run_rule(layer, range.first_row, range.num_known(), head, column, piece);
  if (range.num_drafted == 0) return;
  float* ahead = ahead_.data() + to_size(worker) * piece_floats_;
  std::copy_n(piece, shape.piece_floats(), ahead);
  run_rule(layer, range.first_row + range.num_known(), range.num_drafted, head, column, ahead);
}

void DeltaMixer::run_rule(const Layer& layer, int first_row, int num_rows, int head, int column, float* piece) {
  const DeltaSpec& spec = *layer.spec;
  float* rows = mixed_.data() + std::int64_t{first_row} * spec.num_channels();
  const int key_head = spec.key_head(head);
  context_.kernels.delta_rule({.q = rows + key_head * spec.key_dim,
                               .k = rows + spec.key_width() + key_head * spec.key_dim,
                               .v = rows + 2 * spec.key_width() + head * spec.value_dim + column,
                               .gates = gates_.data() + 2 * (std::int64_t{first_row} * spec.num_value_heads + head),
                               .stride = spec.num_channels(),
                               .gate_stride = 2 * spec.num_value_heads,
                               .num_tokens = num_rows,
                               .key_dim = spec.key_dim,
                               .columns = std::min(kDeltaColumns, spec.value_dim - column)},
                              piece);
}

/// The norm of each head's result, times the activated gate.
void DeltaMixer::gate_result(const Layer& layer, std::int64_t batch_row, std::int64_t row) {
  const DeltaSpec& spec = *layer.spec;
  const KernelTable& kernels = context_.kernels;
  const std::int64_t width = spec.value_width();
  float* result = mixed_.data() + batch_row * spec.num_channels() + 2 * spec.key_width();
  float* gated = gated_.data() + row * width;
  for (float* head = result; head != result + width; head += spec.value_dim)
    kernels.rms_norm(head, layer.weights->norm, spec.value_dim, config_.norm_epsilon, head);
  kernels.silu_mul(gated, result, width, gated);
}

}  // namespace octavo
