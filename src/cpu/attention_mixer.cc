#include "cpu/attention_mixer.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>

#include "base/error.h"
#include "base/to_size.h"
#include "model/largest.h"

namespace octavo {
namespace {

/// The largest number(spec) of layers with latent attention; 0: there are none.
template <class Number>
int largest_of_latent(const ModelConfig& config, const Number& number) {
  return largest<AttentionSpec>(config.layers,
                                [&](const AttentionSpec& spec) { return spec.latent ? std::invoke(number, spec) : 0; });
}

}  // namespace

RowForms AttentionMixer::forms(const AttentionWeights& w) {
  const bool q_reads_input = !is_present(w.latent.q_down);
  return (q_reads_input ? w.q.forms() : RowForms()) | w.latent.q_down.forms() | w.k.forms() | w.v.forms() |
         w.gate.forms();
}

int AttentionMixer::max_cols(const ModelConfig& config) {
  return largest<AttentionSpec>(config.layers, [](const AttentionSpec& spec) {
    return std::max({spec.q_width(), spec.result_width(), spec.latent ? spec.latent->q_rank : 0});
  });
}

AttentionMixer::AttentionMixer(const ModelConfig& config, const Weights& weights, const KvArena& kv,
                               ComputeContext& context, ResidualStream& stream, LayerRange layers)
    : config_(config),
      context_(context),
      stream_(stream),
      kv_(kv),
      layers_(config.layers.size()),
      ropes_(context.math, context.max_rows),
      q_(context.make_rows(largest<AttentionSpec>(config.layers, &AttentionSpec::q_width))),
      attended_(context.make_rows(largest<AttentionSpec>(config.layers, &AttentionSpec::attended_width))),
      gated_q_(context.make_rows(largest<AttentionSpec>(
          config.layers, [](const AttentionSpec& spec) { return spec.gated_output ? spec.q_rows() : 0; }))),
      gate_(context.make_rows(largest<AttentionSpec>(config.layers, &AttentionSpec::gate_rows))),
      k_(context.make_rows(largest<AttentionSpec>(config.layers, &AttentionSpec::k_width))),
      v_(context.make_rows(largest<AttentionSpec>(config.layers, &AttentionSpec::v_width))),
      ones_(to_size(largest<AttentionSpec>(config.layers,
                                           [](const AttentionSpec& spec) {
                                             return std::max(spec.v_norm ? spec.v_dim() : 0,
                                                             spec.qk_norm_is_plain ? spec.head_dim : 0);
                                           }))),
      q_low_(context.make_rows(largest_of_latent(config, [](const AttentionSpec& s) { return s.latent->q_rank; }))),
      q_plain_(context.make_rows(largest_of_latent(config, &AttentionSpec::q_rows))),
      values_(context.make_rows(largest_of_latent(config, &AttentionSpec::result_width))),
      head_products_(config, weights, context, layers) {
  std::ranges::fill(ones_.span(), 1.0F);
  for (std::size_t i = 0; i < layers_.size(); ++i) {
    const AttentionSpec* spec = config.layers[i].attention();
    if (spec == nullptr || !layers.contains(static_cast<int>(i))) continue;
    Layer& layer = layers_[i];
    layer.spec = spec;
    layer.weights = &std::get<AttentionWeights>(weights.layers[i].mixer);
    layer.place = kv.layout().place(spec->borrows_from.value_or(static_cast<int>(i)));  // an assistant has no places
    layer.plan = find_plan(layer.place.group, *spec);
    layer.rope = ropes_.add(spec->rope, weights.rope_factors);
  }
  sequences_.reserve(to_size(context.max_rows));
}

std::size_t AttentionMixer::find_plan(int group, const AttentionSpec& spec) {
  const AttentionReach reach{
      .window = spec.window, .is_causal = spec.is_causal, .is_chunked = spec.is_chunked, .joins = spec.joins_pictures};
  const AttentionPlan::Shape shape{.num_heads = spec.num_heads,
                                   .num_kv_heads = spec.num_kv_heads,
                                   .k_dim = spec.head_dim,
                                   .v_dim = spec.v_dim(),
                                   .max_rows = context_.max_rows};
  for (std::size_t i = 0; i < plans_.size(); ++i) {
    const AttentionPlan::Shape& known = plans_[i].shape;
    if (plans_[i].group == group && plans_[i].reach == reach && known.num_heads == shape.num_heads &&
        known.num_kv_heads == shape.num_kv_heads && known.k_dim == shape.k_dim && known.v_dim == shape.v_dim)
      return i;
  }
  plans_.push_back({group, reach, shape, AttentionPlan(shape, context_.pool.num_threads())});
  return plans_.size() - 1;
}

void AttentionMixer::plan(const StepRows& rows) {
  const Batch& batch = rows.batch();
  for (GroupPlan& plan : plans_) {
    const Batch::Group& tables = batch.groups[to_size(plan.group)];
    const std::int32_t* ids = tables.block_ids.data();
    sequences_.clear();
    rows.for_ranges([&](std::int64_t first, int num_rows) {
      const std::int64_t batch_row = rows.batch_row(first);
      const auto s = to_size(rows.sequence_of(batch_row));
      sequences_.push_back({.blocks = {ids + tables.block_begin[s], ids + tables.block_begin[s + 1]},
                            .q = q_.data() + first * plan.shape.num_heads * plan.shape.k_dim,
                            .out = attended_.data() + first * plan.shape.num_heads * plan.shape.v_dim,
                            .first_position = batch.positions[to_size(batch_row)],
                            .num_rows = num_rows,
                            .num_tokens = batch.kv_len[s],
                            .sight_end = batch.sight_end});
    });
    plan.plan.build(sequences_, plan.reach, kv_.layout().block_size);
  }
}

void AttentionMixer::write_state(int index, const StepRows& rows) {
  const Layer& layer = layers_[to_size(index)];
  const std::array<Product, 2> products = {{{&layer.weights->k, k_.data()}, {&layer.weights->v, v_.data()}}};
  context_.enter(StepPart::kMixerInput);
  context_.multiply(std::span(products).first(layer.spec->has_v() ? 2 : 1), stream_.input(), rows.count());
  context_.enter(StepPart::kPositions);
  context_.for_rows_apart(rows.count(), [&](std::int64_t row, int) { write_kv(layer, rows, row); });
}

void AttentionMixer::run(int index, const StepRows& rows, bool state_written, const Epilogue& epilogue) {
  const Layer& layer = layers_[to_size(index)];
  const AttentionWeights& w = *layer.weights;
  const int count = rows.count();
  const bool writes = !layer.spec->borrows_from && !state_written;
  context_.enter(StepPart::kMixerInput);
  multiply_inputs(layer, count, writes);
  context_.enter(StepPart::kPositions);
  context_.for_rows_apart(count, [&](std::int64_t row, int) {
    if (!layer.spec->latent) finish_q(layer, rows, row);
    if (writes) write_kv(layer, rows, row);
  });
  if (layer.spec->latent) make_latent_q(layer, rows);
  context_.enter(StepPart::kAttention);
  attend(layer);
  const float* result = attended_.data();
  if (layer.spec->latent) result = multiply_values(layer, count);
  context_.enter(StepPart::kRows);
  if (layer.spec->gated_output || layer.spec->output_gate)
    context_.for_rows_apart(count, [&](std::int64_t row, int) { gate_attended(*layer.spec, row); });
  stream_.finish_mixer(w.o, result, count, epilogue, [&](std::int64_t row) {
    if (w.o_bias != nullptr) context_.kernels.add(stream_.h() + row * config_.width, w.o_bias, config_.width);
  });
}

void AttentionMixer::multiply_inputs(const Layer& layer, int rows, bool writes) {
  const AttentionWeights& w = *layer.weights;
  std::array<Product, 4> products;
  std::size_t num_products = 0;
  if (is_present(w.latent.q_down)) {
    products[num_products++] = {&w.latent.q_down, q_low_.data()};
  } else {
    float* q = layer.spec->latent ? q_plain_.data() : layer.spec->gated_output ? gated_q_.data() : q_.data();
    products[num_products++] = {&w.q, q};
  }
  if (layer.spec->output_gate) products[num_products++] = {&w.gate, gate_.data()};
  if (writes) products[num_products++] = {&w.k, k_.data()};
  if (writes && layer.spec->has_v()) products[num_products++] = {&w.v, v_.data()};
  context_.multiply(std::span(products).first(num_products), stream_.input(), rows);
}

void AttentionMixer::make_latent_q(const Layer& layer, const StepRows& rows) {
  const AttentionWeights& w = *layer.weights;
  const AttentionSpec& spec = *layer.spec;
  const LatentSpec& latent = *spec.latent;
  const int count = rows.count();
  if (is_present(w.latent.q_down)) {
    const std::int64_t rank = latent.q_rank;
    context_.for_rows_apart(count, [&](std::int64_t row, int) {
      float* low = q_low_.data() + row * rank;
      context_.kernels.rms_norm(low, w.latent.q_norm, rank, config_.norm_epsilon, low);
    });
    stream_.quantize_rows(w.q.forms(), q_low_.data(), rank, count);
    context_.enter(StepPart::kMixerInput);
    context_.multiply(w.q, stream_.quantized(q_low_.data(), rank), count, q_plain_.data());
    context_.enter(StepPart::kPositions);
  }
  const std::int64_t width = spec.q_width(), plain_width = spec.q_rows();
  const RopeTable& rope = ropes_[layer.rope];
  context_.for_rows_apart(count, [&](std::int64_t row, int) {
    const std::int64_t batch_row = rows.batch_row(row);
    float* plain = q_plain_.data() + row * plain_width;
    float* rotated = q_.data() + row * width + latent.rank;
    const float scale = score_scale(spec, context_.math, rows.batch().positions[to_size(batch_row)]);
    context_.kernels.scale(plain, scale, plain_width);
    for (int head = 0; head < spec.num_heads; ++head, plain += latent.q_dim(), rotated += spec.head_dim) {
      std::copy_n(plain + latent.plain_dim, latent.rotated_dim, rotated);
      rope.rotate(context_.kernels, batch_row, rotated);
    }
  });
  context_.enter(StepPart::kMixerInput);
  head_products_.multiply(w.latent.keys, {q_plain_.data(), plain_width, latent.q_dim()}, count,
                          {q_.data(), width, spec.head_dim});
}

const float* AttentionMixer::multiply_values(const Layer& layer, int rows) {
  const AttentionSpec& spec = *layer.spec;
  context_.enter(StepPart::kMixerOutput);
  head_products_.multiply(layer.weights->latent.values, {attended_.data(), spec.attended_width(), spec.v_dim()}, rows,
                          {values_.data(), spec.result_width(), spec.latent->value_dim});
  return values_.data();
}

void AttentionMixer::gate_attended(const AttentionSpec& spec, std::int64_t row) {
  if (spec.output_gate) return apply_gate(spec, row);
  const std::int64_t width = spec.q_width();
  float* attended = attended_.data() + row * width;
  const float* gate = gated_q_.data() + row * spec.q_rows() + spec.head_dim;
  for (float* head = attended; head != attended + width; head += spec.head_dim, gate += 2 * spec.head_dim)
    context_.kernels.sigmoid_mul(gate, head, spec.head_dim, head);
}

void AttentionMixer::apply_gate(const AttentionSpec& spec, std::int64_t row) {
  const int width = spec.result_width(), num_gates = spec.gate_rows(), of_each = width / num_gates;
  float* attended = attended_.data() + row * width;
  float* gates = gate_.data() + row * num_gates;
  if (spec.output_gate->function == GateFunction::kSigmoid && of_each == 1)
    return context_.kernels.sigmoid_mul(gates, attended, width, attended);
  for (int i = 0; i < num_gates; ++i)
    context_.kernels.scale(attended + i * of_each, gate_value(*spec.output_gate, gates[i]), of_each);
}

/// The exponential of the model's bits, whose rounding no level changes.
float AttentionMixer::gate_value(const OutputGate& gate, float product) const {
  const auto x = static_cast<double>(product);
  if (gate.function == GateFunction::kSigmoid) return static_cast<float>(1 / (1 + context_.math.exp(-x)));
  constexpr double kIdentity = 20;  // from here on softplus is its argument
  return x > kIdentity ? product : static_cast<float>(context_.math.log1p(context_.math.exp(x)));
}

void AttentionMixer::finish_q(const Layer& layer, const StepRows& rows, std::int64_t row) {
  const int width = layer.spec->q_width();
  const int num_products = layer.spec->q_rows();
  float* q = q_.data() + row * width;
  float* products = layer.spec->gated_output ? gated_q_.data() + row * num_products : q;
  if (layer.weights->q_bias != nullptr) context_.kernels.add(products, layer.weights->q_bias, num_products);
  if (layer.spec->gated_output) {
    const int dim = layer.spec->head_dim;
    const float* head = products;
    for (float* to = q; to != q + width; to += dim, head += 2 * dim) std::copy_n(head, dim, to);
  }
  const std::int64_t batch_row = rows.batch_row(row);
  norm_and_rope(layer, batch_row, layer.weights->q_norm, layer.spec->num_heads, q);
  context_.kernels.scale(q, score_scale(*layer.spec, context_.math, rows.batch().positions[to_size(batch_row)]), width);
}

void AttentionMixer::write_kv(const Layer& layer, const StepRows& rows, std::int64_t row) {
  const AttentionWeights& w = *layer.weights;
  const int k_width = layer.spec->k_width(), v_width = layer.spec->v_width();
  float* k = k_.data() + row * k_width;
  float* v = v_.data() + row * v_width;
  if (layer.spec->latent) {
    finish_latent(layer, row, k);
    v = k;  // the latent
  } else {
    if (w.k_bias != nullptr) context_.kernels.add(k, w.k_bias, k_width);
    if (w.v_bias != nullptr) context_.kernels.add(v, w.v_bias, v_width);
    finish_v(layer, k, v);
    norm_and_rope(layer, row, w.k_norm, layer.spec->num_kv_heads, k);
  }
  const KvLayer kv = kv_.layer(layer.place.group, layer.place.index);
  const Batch::Group& tables = rows.batch().groups[to_size(layer.place.group)];
  const int position = rows.batch().positions[to_size(row)];
  const int first_block = tables.block_begin[to_size(rows.sequence_of(row))];
  const std::int32_t block = tables.block_ids[to_size(first_block + position / kv.block_size)];
  context_.kernels.write_kv[to_size(kv_.layout().type)](kv, block, position % kv.block_size, k, v);
}

void AttentionMixer::finish_latent(const Layer& layer, std::int64_t row, float* k) {
  const int rank = layer.spec->latent->rank;
  context_.kernels.rms_norm(k, layer.weights->latent.norm, rank, config_.norm_epsilon, k);
  ropes_[layer.rope].rotate(context_.kernels, row, k + rank);
}

void AttentionMixer::finish_v(const Layer& layer, const float* k, float* v) {
  const AttentionSpec& spec = *layer.spec;
  if (spec.v_is_k) std::copy_n(k, spec.k_width(), v);
  if (!spec.v_norm) return;
  for (float* head = v; head != v + spec.v_width(); head += spec.v_dim())
    context_.kernels.rms_norm(head, ones_.data(), spec.v_dim(), config_.norm_epsilon, head);
}

void AttentionMixer::norm_and_rope(const Layer& layer, std::int64_t batch_row, const float* norm, int num_heads,
                                   float* heads) {
  const AttentionSpec& spec = *layer.spec;
  const int dim = spec.head_dim, all = num_heads * dim;
  const RopeTable& rope = ropes_[layer.rope];
  const KernelTable& kernels = context_.kernels;
  if (spec.qk_norm_is_plain) norm = ones_.data();
  if (norm != nullptr && spec.qk_norm_is_whole) kernels.rms_norm(heads, norm, all, config_.norm_epsilon, heads);
  const bool of_each = norm != nullptr && !spec.qk_norm_is_whole;
  const auto norm_head = [&](float* head) {
    const float* weight = spec.qk_norm_by_head ? norm + (head - heads) : norm;
    spec.qk_norm_by_head&& config_.norm == NormKind::kLayer
        ? kernels.layer_norm(head, weight, nullptr, dim, config_.norm_epsilon, head)
        : kernels.rms_norm(head, weight, dim, config_.norm_epsilon, head);
  };
  for (float* head = heads; head != heads + all; head += dim) {
    if (of_each && !spec.qk_norm_after_rope) norm_head(head);
    rope.rotate(kernels, batch_row, head);
    if (of_each && spec.qk_norm_after_rope) norm_head(head);
  }
}

void AttentionMixer::attend(const Layer& layer) {
  const auto type = to_size(kv_.layout().type);
  plans_[layer.plan].plan.run(kv_.layer(layer.place.group, layer.place.index), context_.kernels.attention[type],
                              context_.kernels.merge_tiles, context_.pool,
                              {.sinks = layer.weights->sinks, .soft_cap = layer.spec->soft_cap});
}

}  // namespace octavo
