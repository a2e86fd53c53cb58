#include "gpu/card_delta.h"

#include <algorithm>

#include "base/to_size.h"
#include "model/delta_norms.h"
#include "model/head_states.h"
#include "model/largest.h"

namespace octavo::gpu {
namespace {

/// The widest rows of the layers.
struct Widths {
  std::uint64_t channels, heads, values;

  explicit Widths(const ModelConfig& config)
      : channels(to_size(largest<DeltaSpec>(config.own_layers(), &DeltaSpec::num_channels))),
        heads(to_size(largest<DeltaSpec>(config.own_layers(), &DeltaSpec::num_value_heads))),
        values(to_size(largest<DeltaSpec>(config.own_layers(), &DeltaSpec::value_width))) {}
};

std::uint64_t kept_input_bytes(const DeltaSpec& spec) {
  return to_size(kMaxDraftedRows) * to_size(spec.num_channels()) * sizeof(float);
}
std::uint64_t kept_gate_bytes(const DeltaSpec& spec) {
  return to_size(2 * kMaxDraftedRows) * to_size(spec.num_value_heads) * sizeof(float);
}

bool reads_int8(const DeltaTensors<CardForm>& w, bool state, bool gate) {
  return (state && (w.qkv.reads_int8() || w.decay.reads_int8() || w.beta.reads_int8())) ||
         (gate && w.gate.reads_int8());
}

int head_blocks(int heads) { return (heads + kHeadWarps - 1) / kHeadWarps; }

}  // namespace

std::uint64_t CardDelta::state_bytes(const ModelConfig& config, const StateRoom& room, int layer) {
  const DeltaSpec* spec = config.layer(layer).delta();
  if (spec == nullptr) return 0;
  const SnapshotShape& snapshot = room.layout.snapshot;
  const std::uint64_t of_one = snapshot.bytes_of_first(layer + 1) - snapshot.bytes_of_first(layer);
  return to_size(room.num_snapshots) * of_one + kept_input_bytes(*spec) + kept_gate_bytes(*spec);
}

std::uint64_t CardDelta::scratch_bytes(const ModelConfig& config, int max_rows) {
  const Widths widths(config);
  return to_size(max_rows) * (2 * widths.channels + 4 * widths.heads + widths.values) * sizeof(float);
}

Result<CardDelta> CardDelta::create(CardContext& context, const ModelConfig& config, const StateRoom& room,
                                    LayerRange layers, const CardWeights& weights, int max_rows) {
  CardDelta made(context, config, room.layout);
  made.layers_.resize(to_size(layers.end));
  const std::size_t before = room.layout.snapshot.bytes_of_first(layers.first);
  made.stride_ = room.layout.snapshot.bytes_of_first(layers.end) - before;
  if (made.stride_ == 0) return made;
  OCTAVO_TRY(made.states_, context.device.allocate(to_size(room.num_snapshots) * made.stride_));
  for (int i = layers.first; i < layers.end; ++i) {
    Layer& layer = made.layers_[to_size(i)];
    layer.spec = config.layer(i).delta();
    if (layer.spec == nullptr) continue;
    layer.taps = std::get<DeltaTensors<CardForm>>(weights.layer(i).mixer).taps;
    layer.states = made.states_.as<float>(*room.layout.snapshot.places[to_size(i)] - before);
    OCTAVO_TRY(layer.kept_inputs, context.device.allocate(kept_input_bytes(*layer.spec)));
    OCTAVO_TRY(layer.kept_gates, context.device.allocate(kept_gate_bytes(*layer.spec)));
  }
  const Widths widths(config);
  OCTAVO_TRY(made.inputs_, context.allocate_rows(max_rows, widths.channels));
  OCTAVO_TRY(made.mixed_, context.allocate_rows(max_rows, widths.channels));
  OCTAVO_TRY(made.decay_, context.allocate_rows(max_rows, widths.heads));
  OCTAVO_TRY(made.beta_, context.allocate_rows(max_rows, widths.heads));
  OCTAVO_TRY(made.gates_, context.allocate_rows(max_rows, 2 * widths.heads));
  OCTAVO_TRY(made.gated_, context.allocate_rows(max_rows, widths.values));
  return made;
}

void CardDelta::copy_snapshots(std::span<const BlockCopy> copies) {
  if (stride_ == 0) return;
  for (const auto& [group, from, to] : copies)
    if (group == layout_->num_groups())
      context_->device.copy_on_card(states_.pointer() + to_size(to) * stride_,
                                    states_.pointer() + to_size(from) * stride_, stride_);
}

// Kept rows go through the same kernels from where they are kept, under the numbers that they have there.
void CardDelta::advance_states(std::span<const StateAdvance> advances) {
  right_.plan_advances(advances);
  if (stride_ == 0 || right_.ranges().empty()) return;
  std::vector<DeltaRange> ranges;
  std::vector<std::int32_t> range_of;
  for (const RecurrentRows::Range& range : right_.ranges()) {
    range_of.resize(std::max(range_of.size(), to_size(range.first_kept + range.num_rows)), -1);
    std::fill_n(range_of.begin() + range.first_kept, range.num_rows, static_cast<std::int32_t>(ranges.size()));
    ranges.push_back({.first_row = range.first_kept,
                      .num_known = range.num_rows,
                      .num_drafted = 0,
                      .state_slot = range.state_slot,
                      .begins = 0,
                      .first_kept = 0});
  }
  context_->device.wait();  // until the arrays of the last advance have gone
  advance_arrays_.clear();
  const std::size_t ranges_at = advance_arrays_.add(std::span<const DeltaRange>(ranges));
  const std::size_t range_of_at = advance_arrays_.add(std::span<const std::int32_t>(range_of));
  advance_arrays_.upload();
  const CardRanges on_card{.ranges = advance_arrays_.at<DeltaRange>(ranges_at),
                           .range_of = advance_arrays_.at<std::int32_t>(range_of_at),
                           .count = static_cast<int>(ranges.size())};
  for (const Layer& layer : layers_) {
    if (layer.spec == nullptr) continue;
    const Rows rows{.ranges = on_card,
                    .count = static_cast<int>(range_of.size()),
                    .inputs = layer.kept_inputs.as<float>(),
                    .gates = layer.kept_gates.as<float>()};
    convolve(layer, rows);
    run_rule(layer, rows);
  }
}

void CardDelta::write_state(int layer, const CardLayerWeights& weights, const CardStep& step, const float* h) {
  const auto& w = std::get<DeltaTensors<CardForm>>(weights.mixer);
  if (reads_int8(w, true, false)) context_->quantize(h, w.qkv.cols, step.rows().count());
  advance(layer, w, step, h);
}

void CardDelta::run(int layer, const CardLayerWeights& weights, const CardStep& step, bool state_written, float* h) {
  const auto& w = std::get<DeltaTensors<CardForm>>(weights.mixer);
  const DeltaSpec& spec = *layers_[to_size(layer)].spec;
  const int rows = step.rows().count();
  if (reads_int8(w, !state_written, true)) context_->quantize(h, w.gate.cols, rows);
  context_->multiply(w.gate, h, rows, gated_.as<float>());
  if (!state_written) advance(layer, w, step, h);
  gate_results(spec, w, step);
  if (w.output.reads_int8()) context_->quantize(gated_.as<float>(), spec.value_width(), rows);
  context_->multiply(w.output, gated_.as<float>(), rows, h);
}

/// Runs the recurrence on the products of all rows, up to its results.
void CardDelta::advance(int index, const DeltaTensors<CardForm>& w, const CardStep& step, const float* h) {
  const Layer& layer = layers_[to_size(index)];
  const Rows rows{.ranges = step.ranges(),
                  .count = step.rows().count(),
                  .inputs = inputs_.as<float>(),
                  .gates = gates_.as<float>()};
  context_->multiply(w.qkv, h, rows.count, inputs_.as<float>());
  context_->multiply(w.decay, h, rows.count, decay_.as<float>());
  context_->multiply(w.beta, h, rows.count, beta_.as<float>());
  find_gates(layer, w, rows.count);
  convolve(layer, rows);
  run_rule(layer, rows);
}

DeltaLayer CardDelta::delta_layer(const Layer& layer, const CardRanges& ranges) const {
  const DeltaSpec& spec = *layer.spec;
  return {.ranges = ranges.ranges,
          .range_of = ranges.range_of,
          .states = layer.states,
          .stride = static_cast<std::int64_t>(stride_ / sizeof(float)),
          .num_key_heads = spec.num_key_heads,
          .num_value_heads = spec.num_value_heads,
          .key_dim = spec.key_dim,
          .value_dim = spec.value_dim,
          .taps = spec.taps};
}

void CardDelta::convolve(const Layer& layer, const Rows& rows) {
  const DeltaSpec& spec = *layer.spec;
  const DeltaNorms norms(spec);
  context_->device.launch({.kernel = "octavo_convolve_heads",
                           .grid_x = head_blocks(2 * spec.num_key_heads + spec.num_value_heads),
                           .grid_y = rows.count,
                           .threads = kHeadThreads,
                           .shared_bytes = convolve_heads_shared(spec.key_dim, spec.value_dim)},
                          ConvolveHeadsArguments{.layer = delta_layer(layer, rows.ranges),
                                                 .inputs = rows.inputs,
                                                 .taps = layer.taps,
                                                 .mixed = mixed_.as<float>(),
                                                 .q_weight = norms.q_weight,
                                                 .k_weight = norms.k_weight,
                                                 .epsilon = norms.epsilon,
                                                 .lanes = context_->order.lanes});
}

void CardDelta::find_gates(const Layer& layer, const DeltaTensors<CardForm>& w, int rows) {
  const int heads = layer.spec->num_value_heads;
  context_->device.launch(
      {.kernel = "octavo_find_gates", .grid_x = column_blocks(rows * heads), .threads = kRowThreads},
      FindGatesArguments{.decay = decay_.as<float>(),
                         .beta = beta_.as<float>(),
                         .decay_bias = w.decay_bias,
                         .decay_scale = w.decay_scale,
                         .gates = gates_.as<float>(),
                         .count = rows * heads,
                         .num_heads = heads});
}

void CardDelta::run_rule(const Layer& layer, const Rows& rows) {
  const DeltaSpec& spec = *layer.spec;
  const DeltaLayer on_card = delta_layer(layer, rows.ranges);
  context_->device.launch({.kernel = "octavo_delta_rule",
                           .grid_x = spec.num_value_heads * states_of(spec).num_pieces(),
                           .grid_y = rows.ranges.count,
                           .threads = kDeltaThreads,
                           .shared_bytes = delta_rule_shared(spec.key_dim)},
                          DeltaRuleArguments{.layer = on_card, .mixed = mixed_.as<float>(), .gates = rows.gates});
  context_->device.launch({.kernel = "octavo_keep_inputs",
                           .grid_x = column_blocks(spec.num_channels()),
                           .grid_y = rows.ranges.count,
                           .threads = kRowThreads},
                          KeepInputsArguments{.layer = on_card,
                                              .inputs = rows.inputs,
                                              .gates = rows.gates,
                                              .kept_inputs = layer.kept_inputs.as<float>(),
                                              .kept_gates = layer.kept_gates.as<float>()});
}

void CardDelta::gate_results(const DeltaSpec& spec, const DeltaTensors<CardForm>& w, const CardStep& step) {
  context_->device.launch({.kernel = "octavo_gate_results",
                           .grid_x = head_blocks(spec.num_value_heads),
                           .grid_y = step.rows().count(),
                           .threads = kHeadThreads,
                           .shared_bytes = gate_results_shared(spec.value_dim)},
                          GateResultsArguments{.mixed = mixed_.as<float>(),
                                               .gated = gated_.as<float>(),
                                               .norm = w.norm,
                                               .batch_row = step.batch_rows(),
                                               .epsilon = context_->epsilon,
                                               .num_heads = spec.num_value_heads,
                                               .head_dim = spec.value_dim,
                                               .num_channels = spec.num_channels(),
                                               .lanes = context_->order.lanes});
}

}  // namespace octavo::gpu
