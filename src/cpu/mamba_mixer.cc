#include "cpu/mamba_mixer.h"

#include <algorithm>
#include <array>

#include "base/to_size.h"
#include "model/largest.h"

namespace octavo {
namespace {

/// The weights of a layer that is one of these and has Mamba-2, alone or beside another mixer; nullptr: it has none.
const MambaWeights* weights_of(const ModelConfig& config, const Weights& weights, LayerRange layers, std::size_t i) {
  if (config.layers[i].mamba() == nullptr || !layers.contains(static_cast<int>(i))) return nullptr;
  return config.layers[i].beside ? &weights.layers[i].beside : &std::get<MambaWeights>(weights.layers[i].mixer);
}

}  // namespace

RowForms MambaMixer::forms(const MambaWeights& w) { return w.gate.forms() | w.input.forms() | w.step.forms(); }

MambaMixer::MambaMixer(const ModelConfig& config, const Weights& weights, SnapshotArena& snapshots,
                       ComputeContext& context, ResidualStream& stream, LayerRange layers)
    : HeadRecurrence(snapshots, context, recurrences(config, weights, layers, &LayerSpec::mamba, weights_of)),
      config_(config),
      context_(context),
      stream_(stream),
      layers_(config.layers.size()),
      steps_(context.make_rows(largest<MambaSpec>(config.layers, layers, &MambaSpec::num_heads))),
      gated_(context.make_rows(largest<MambaSpec>(config.layers, layers, &MambaSpec::inner_width))) {
  for (std::size_t i = 0; i < layers_.size(); ++i)
    if (const MambaWeights* w = weights_of(config, weights, layers, i))
      layers_[i] = {.spec = config.layers[i].mamba(), .weights = w};
}

void MambaMixer::write_state(int index, const StepRows& rows) {
  const MambaWeights& w = *layers_[to_size(index)].weights;
  const std::array<Product, 2> products = {{{&w.input, inputs()}, {&w.step, steps_.data()}}};
  context_.enter(StepPart::kMixerInput);
  context_.multiply(products, stream_.input(), rows.count());
  advance(index);
}

void MambaMixer::run(int index, const StepRows& rows, bool state_written, const Epilogue& epilogue) {
  const MambaWeights& w = *layers_[to_size(index)].weights;
  const int count = rows.count();
  const std::array<Product, 3> products = {{{&w.gate, gated_.data()}, {&w.input, inputs()}, {&w.step, steps_.data()}}};
  context_.enter(StepPart::kMixerInput);
  context_.multiply(std::span(products).first(state_written ? 1 : 3), stream_.input(), count);
  if (!state_written) advance(index);
  context_.enter(StepPart::kRows);
  context_.for_rows_apart(count, [&](std::int64_t row, int) { gate_result(index, rows.batch_row(row), row); });
  stream_.finish_mixer(w.output, gated_.data(), count, epilogue, [](std::int64_t) {});
}

/// Decays and steps, with the project's own functions.
void MambaMixer::find_gates(int index, std::int64_t row) {
  const MambaLayer& layer = layers_[to_size(index)];
  const float* steps = steps_.data() + row * layer.spec->num_heads;
  float* gates = gates_at(index, row);
  for (int head = 0; head < layer.spec->num_heads; ++head, gates += 2) {
    const auto step = static_cast<float>(softplus(static_cast<double>(steps[head] + layer.weights->step_bias[head])));
    gates[0] = static_cast<float>(portable::exp(static_cast<double>(step * layer.weights->decay_rate[head])));
    gates[1] = step;
  }
}

void MambaMixer::run_rule(int index, const HeadRows& rows, float* piece) {
  const MambaLayer& layer = layers_[to_size(index)];
  const MambaSpec& spec = *layer.spec;
  float* first = mixed(index, rows.first_row);
  const float* b = first + spec.inner_width() + spec.group(rows.head) * spec.state_dim;
  context_.kernels.selective_scan({.b = b,
                                   .c = b + spec.num_groups * spec.state_dim,
                                   .x = first + rows.head * spec.head_dim + rows.column,
                                   .steps = gates_at(index, rows.first_row) + 2 * rows.head,
                                   .stride = spec.num_channels(),
                                   .step_stride = gates_of(index),
                                   .num_tokens = rows.num_rows,
                                   .skip = layer.weights->skip[rows.head],
                                   .state_dim = spec.state_dim,
                                   .columns = std::min(kStateColumns, spec.head_dim - rows.column)},
                                  piece);
}

/// The result times the activated gate, then the norm of each group.
void MambaMixer::gate_result(int index, std::int64_t batch_row, std::int64_t row) {
  const MambaLayer& layer = layers_[to_size(index)];
  const std::int64_t width = layer.spec->inner_width(), part = layer.spec->norm_width();
  float* gated = gated_.data() + row * width;
  context_.kernels.silu_mul(gated, mixed(index, batch_row), width, gated);
  if (layer.weights->norm == nullptr) return;
  for (std::int64_t i = 0; i < width; i += part)
    context_.kernels.rms_norm(gated + i, layer.weights->norm + i, part, config_.norm_epsilon, gated + i);
}

}  // namespace octavo
