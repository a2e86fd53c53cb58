#include "cpu/delta_mixer.h"

#include <algorithm>
#include <array>

#include "base/to_size.h"
#include "model/delta_norms.h"
#include "model/largest.h"

namespace octavo {
namespace {

/// The weights of a layer that is one of these and has a delta net; nullptr: it has none.
const DeltaWeights* weights_of(const ModelConfig& config, const Weights& weights, LayerRange layers, std::size_t i) {
  if (config.layers[i].delta() == nullptr || !layers.contains(static_cast<int>(i))) return nullptr;
  return &std::get<DeltaWeights>(weights.layers[i].mixer);
}

}  // namespace

RowForms DeltaMixer::forms(const DeltaWeights& w) {
  return w.qkv.forms() | w.gate.forms() | w.decay.forms() | w.beta.forms();
}

DeltaMixer::DeltaMixer(const ModelConfig& config, const Weights& weights, SnapshotArena& snapshots,
                       ComputeContext& context, ResidualStream& stream, LayerRange layers)
    : HeadRecurrence(snapshots, context, recurrences(config, weights, layers, &LayerSpec::delta, weights_of)),
      config_(config),
      context_(context),
      stream_(stream),
      layers_(config.layers.size()),
      decay_(context.make_rows(largest<DeltaSpec>(config.layers, layers, &DeltaSpec::decay_rows))),
      beta_(context.make_rows(largest<DeltaSpec>(config.layers, layers, &DeltaSpec::num_value_heads))),
      gated_(context.make_rows(largest<DeltaSpec>(config.layers, layers, &DeltaSpec::value_width))) {
  for (std::size_t i = 0; i < layers_.size(); ++i) {
    const DeltaWeights* w = weights_of(config, weights, layers, i);
    if (w == nullptr) continue;
    const DeltaSpec* spec = config.layers[i].delta();
    const DeltaNorms norms(*spec);
    layers_[i] = {.spec = spec,
                  .weights = w,
                  .q_norm = std::vector<float>(to_size(spec->key_dim), norms.q_weight),
                  .k_norm = std::vector<float>(to_size(spec->key_dim), norms.k_weight)};
  }
}

void DeltaMixer::write_state(int index, const StepRows& rows) {
  const DeltaWeights& w = *layers_[to_size(index)].weights;
  const std::array<Product, 3> products = {{{&w.qkv, inputs()}, {&w.decay, decay_.data()}, {&w.beta, beta_.data()}}};
  context_.enter(StepPart::kMixerInput);
  context_.multiply(std::span(products).first(is_present(w.beta) ? 3 : 2), stream_.input(), rows.count());
  advance(index);
}

void DeltaMixer::run(int index, const StepRows& rows, bool state_written, const Epilogue& epilogue) {
  const DeltaWeights& w = *layers_[to_size(index)].weights;
  const int count = rows.count();
  const std::array<Product, 4> products = {
      {{&w.gate, gated_.data()}, {&w.qkv, inputs()}, {&w.decay, decay_.data()}, {&w.beta, beta_.data()}}};
  context_.enter(StepPart::kMixerInput);
  const std::size_t num_products = is_present(w.beta) ? 4 : 3;
  context_.multiply(std::span(products).first(state_written ? 1 : num_products), stream_.input(), count);
  if (!state_written) advance(index);
  context_.enter(StepPart::kRows);
  context_.for_rows_apart(count, [&](std::int64_t row, int) { gate_result(index, rows.batch_row(row), row); });
  stream_.finish_mixer(w.output, gated_.data(), count, epilogue, [](std::int64_t) {});
}

/// The norms of the heads of Q and K.
void DeltaMixer::finish_convolved(int index, float* row) {
  const DeltaLayer& layer = layers_[to_size(index)];
  const int heads = layer.spec->num_key_heads, dim = layer.spec->key_dim;
  const float epsilon = DeltaNorms(*layer.spec).epsilon;
  for (int head = 0; head < 2 * heads; ++head, row += dim)
    context_.kernels.rms_norm(row, (head < heads ? layer.q_norm : layer.k_norm).data(), dim, epsilon, row);
}

// The functions are the project's own with native bits, too, so that a card has the same gates.
void DeltaMixer::find_gates(int index, std::int64_t row) {
  const DeltaLayer& layer = layers_[to_size(index)];
  const DeltaSpec& spec = *layer.spec;
  const int heads = spec.num_value_heads, of_key_head = heads / spec.num_key_heads;
  const float* decays = decay_.data() + row * spec.decay_rows();
  float* gates = gates_at(index, row);
  for (int head = 0; head < heads; ++head, gates += 2) {
    // Where betas lie among decays, a key head's are in front of its decays.
    const int place = spec.by_key_head ? head + (head / of_key_head + 1) * of_key_head : head;
    const float beta = spec.by_key_head ? decays[place - of_key_head] : beta_[to_size(row * heads + head)];
    const double step = softplus(static_cast<double>(decays[place] + layer.weights->decay_bias[head]));
    gates[0] = static_cast<float>(portable::exp(static_cast<double>(layer.weights->decay_scale[head]) * step));
    gates[1] = static_cast<float>(1 / (1 + portable::exp(-static_cast<double>(beta))));
  }
}

void DeltaMixer::run_rule(int index, const HeadRows& rows, float* piece) {
  const DeltaSpec& spec = *layers_[to_size(index)].spec;
  float* first = mixed(index, rows.first_row);
  const int key_head = spec.key_head(rows.head);
  context_.kernels.delta_rule({.q = first + key_head * spec.key_dim,
                               .k = first + spec.key_width() + key_head * spec.key_dim,
                               .v = first + 2 * spec.key_width() + rows.head * spec.value_dim + rows.column,
                               .gates = gates_at(index, rows.first_row) + 2 * rows.head,
                               .stride = spec.num_channels(),
                               .gate_stride = gates_of(index),
                               .num_tokens = rows.num_rows,
                               .key_dim = spec.key_dim,
                               .columns = std::min(kStateColumns, spec.value_dim - rows.column)},
                              piece);
}

/// The norm of each head's result, times the activated gate.
void DeltaMixer::gate_result(int index, std::int64_t batch_row, std::int64_t row) {
  const DeltaLayer& layer = layers_[to_size(index)];
  const DeltaSpec& spec = *layer.spec;
  const KernelTable& kernels = context_.kernels;
  const std::int64_t width = spec.value_width();
  float* result = mixed(index, batch_row) + 2 * spec.key_width();
  float* gated = gated_.data() + row * width;
  for (float* head = result; head != result + width; head += spec.value_dim)
    kernels.rms_norm(head, layer.weights->norm, spec.value_dim, config_.norm_epsilon, head);
  kernels.silu_mul(gated, result, width, gated);
}

}  // namespace octavo
