#include "model/transformer.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "kernels/packed_layout.h"
#include "model/model_runner.h"

namespace octavo {
namespace {

// Rows whose small operations are one claim: fewer are not worth another thread's wake-up, and two threads in one tile
// of activations (at most eight rows) would write the same cache lines.
constexpr std::size_t kRowGrain = 8;

std::vector<double> rope_frequencies(const ModelConfig& c, double base, double scale, const float* factors) {
  std::vector<double> frequencies(static_cast<std::size_t>(c.head_dim / 2));
  for (std::size_t i = 0; i < frequencies.size(); ++i) {
    const double exponent = -2.0 * static_cast<double>(i) / c.head_dim;
    frequencies[i] = std::pow(base, exponent) / scale / (factors != nullptr ? static_cast<double>(factors[i]) : 1.0);
  }
  return frequencies;
}

bool is_quantized(const WeightMatrix& w) { return !is_plain_float(w.type); }

}  // namespace

Transformer::Transformer(const ModelConfig& config, const Weights& weights, PagedKvCache& kv,
                         const KernelTable& kernels, ThreadPool& pool, int max_rows)
    : config_(config),
      weights_(weights),
      kv_(kv.storage()),
      kernels_(kernels),
      pool_(pool),
      act_(config, max_rows, kMaxLogitRows, kernels.tile_rows, pool.num_threads()),
      scratch_(weights.make_scratch(pool.num_threads())),
      frequencies_(rope_frequencies(config, config.rope_base, config.rope_scale, weights.rope_factors)) {
  if (config.window > 0) local_frequencies_ = rope_frequencies(config, config.rope_base_local, 1.0, nullptr);
  places_.resize(static_cast<std::size_t>(config.num_layers));
  for (int g = 0; g < kv.num_groups(); ++g) {
    const PagedKvCache::Group& group = kv.group(g);
    for (std::size_t i = 0; i < group.layers.size(); ++i)
      places_[static_cast<std::size_t>(group.layers[i])] = {g, static_cast<int>(i)};
    windows_.push_back(group.window);
    plans_.emplace_back(AttentionPlan::Shape{.num_heads = config.num_heads,
                                             .num_kv_heads = config.num_kv_heads,
                                             .head_dim = config.head_dim,
                                             .max_rows = max_rows},
                        pool.num_threads());
  }
  row_sequence_.reserve(static_cast<std::size_t>(max_rows));
}

void Transformer::forward(const Batch& batch) {
  row_sequence_.clear();
  for (int s = 0; s < batch.num_seqs(); ++s) {
    const auto i = static_cast<std::size_t>(s);
    row_sequence_.insert(row_sequence_.end(), static_cast<std::size_t>(batch.seq_begin[i + 1] - batch.seq_begin[i]), s);
  }
  plan_attention(batch);
  compute_angles(batch);
  embed(batch);
  for_rows(batch.num_rows(), [&](std::int64_t row, int) { norm_row(attention_norm(0), row, row, batch.num_rows()); });
  for (int i = 0; i < config_.num_layers; ++i) layer(batch, i);
}

void Transformer::plan_attention(const Batch& batch) {
  const std::ptrdiff_t row_floats = config_.q_width();
  for (std::size_t g = 0; g < plans_.size(); ++g) {
    const Batch::Group& tables = batch.groups[g];
    attention_sequences_.clear();
    for (int s = 0; s < batch.num_seqs(); ++s) {
      const auto i = static_cast<std::size_t>(s);
      const std::int32_t row = batch.seq_begin[i], *ids = tables.block_ids.data();
      attention_sequences_.push_back({.blocks = {ids + tables.block_begin[i], ids + tables.block_begin[i + 1]},
                                      .q = act_.q.data() + row * row_floats,
                                      .out = act_.attended.data() + row * row_floats,
                                      .first_position = batch.positions[static_cast<std::size_t>(row)],
                                      .num_rows = batch.seq_begin[i + 1] - row});
    }
    plans_[g].build(attention_sequences_, windows_[g], kv_.shape().block_size);
  }
}

void Transformer::compute_angles(const Batch& batch) {
  const std::size_t half = frequencies_.size();
  const auto fill = [&](const std::vector<double>& frequencies, std::size_t row, float* cosines, float* sines) {
    for (std::size_t i = 0; i < half; ++i) {
      const double angle = batch.positions[row] * frequencies[i];
      cosines[row * half + i] = static_cast<float>(std::cos(angle));
      sines[row * half + i] = static_cast<float>(std::sin(angle));
    }
  };
  for_rows(batch.num_rows(), [&](std::int64_t row, int) {
    fill(frequencies_, static_cast<std::size_t>(row), act_.cosines.data(), act_.sines.data());
    if (config_.window > 0)
      fill(local_frequencies_, static_cast<std::size_t>(row), act_.local_cosines.data(), act_.local_sines.data());
  });
}

void Transformer::embed(const Batch& batch) {
  const float scale = std::sqrt(static_cast<float>(config_.width));
  for_rows(batch.num_rows(), [&](std::int64_t row, int worker) {
    float* x = act_.x.data() + row * config_.width;
    scratch_.decode_row(kernels_, weights_.embedding, batch.tokens[static_cast<std::size_t>(row)], worker, x);
    if (config_.arch->scale_embedding) kernels_.scale(x, scale, config_.width);
  });
}

Transformer::Norm Transformer::attention_norm(int layer) const {
  const LayerWeights& w = weights_.layers[static_cast<std::size_t>(layer)];
  return {w.attn_norm, is_quantized(w.q) || is_quantized(w.k) || is_quantized(w.v)};
}

void Transformer::layer(const Batch& batch, int index) {
  attention_block(batch, index);
  feed_forward_block(index, batch.num_rows());
}

void Transformer::attention_block(const Batch& batch, int index) {
  const LayerWeights& w = weights_.layers[static_cast<std::size_t>(index)];
  const Place place = places_[static_cast<std::size_t>(index)];
  const int rows = batch.num_rows();
  const std::array<Product, 3> qkv = {{{&w.q, act_.q.data()}, {&w.k, act_.k.data()}, {&w.v, act_.v.data()}}};
  multiply(qkv, act_.h.data(), config_.width, rows);
  write_cache(batch, index);
  attend(place.group, kv_.layer(place.group, place.layer));
  if (is_quantized(w.o))
    for_rows(rows, [&](std::int64_t row, int) { quantize(act_.attended.data(), config_.q_width(), row, rows); });
  const Product o{&w.o, act_.h.data()};
  multiply({&o, 1}, act_.attended.data(), config_.q_width(), rows);
  const Norm ffn_norm{w.ffn_norm, is_quantized(w.gate) || is_quantized(w.up)};
  for_rows(rows, [&](std::int64_t row, int) {
    add_residual(w.post_attn_norm, row);
    norm_row(ffn_norm, row, row, rows);
  });
}

void Transformer::feed_forward_block(int index, int rows) {
  const LayerWeights& w = weights_.layers[static_cast<std::size_t>(index)];
  const bool int8 = is_quantized(w.down);
  multiply_gated({.gate = &w.gate,
                  .up = &w.up,
                  .activate = config_.arch->activation == Activation::kSilu ? kernels_.silu_mul : kernels_.gelu_mul,
                  .out = int8 ? nullptr : act_.gated.data(),
                  .int8 = int8 ? &act_.gated_int8 : nullptr},
                 act_.int8.view(act_.h.data(), config_.width), rows, kernels_, scratch_, act_.pairs.span(), pool_);
  const Product down{&w.down, act_.h.data()};
  octavo::multiply({&down, 1}, act_.gated_int8.view(act_.gated.data(), config_.ffn_width), rows, kernels_, scratch_,
                   pool_);
  for_rows(rows, [&](std::int64_t row, int) {
    add_residual(w.post_ffn_norm, row);
    if (index + 1 < config_.num_layers) norm_row(attention_norm(index + 1), row, row, rows);
  });
}

void Transformer::write_cache(const Batch& batch, int index) {
  const Place place = places_[static_cast<std::size_t>(index)];
  const Batch::Group& tables = batch.groups[static_cast<std::size_t>(place.group)];
  const int block_size = kv_.layer(place.group, place.layer).block_size;
  for_rows(batch.num_rows(), [&](std::int64_t row, int) {
    const auto i = static_cast<std::size_t>(row);
    const int position = batch.positions[i];
    const int first_block = tables.block_begin[static_cast<std::size_t>(row_sequence_[i])];
    const std::int32_t block = tables.block_ids[static_cast<std::size_t>(first_block + position / block_size)];
    finish_qkv(index, row, block, position % block_size);
  });
}

void Transformer::finish_qkv(int index, std::int64_t row, std::int32_t block, std::int32_t token_in_block) {
  const LayerWeights& w = weights_.layers[static_cast<std::size_t>(index)];
  const Place place = places_[static_cast<std::size_t>(index)];
  const int dim = config_.head_dim;
  float* q = act_.q.data() + row * config_.q_width();
  float* k = act_.k.data() + row * config_.kv_width();
  float* v = act_.v.data() + row * config_.kv_width();
  if (w.q_bias != nullptr) kernels_.add(q, w.q_bias, config_.q_width());
  if (w.k_bias != nullptr) kernels_.add(k, w.k_bias, config_.kv_width());
  if (w.v_bias != nullptr) kernels_.add(v, w.v_bias, config_.kv_width());
  const bool local = config_.is_windowed(index);
  const std::int64_t angles = row * (dim / 2);
  const float* cosines = (local ? act_.local_cosines : act_.cosines).data() + angles;
  const float* sines = (local ? act_.local_sines : act_.sines).data() + angles;
  const auto rope =
      config_.arch->rope_pairs == RopePairs::kNeighbours ? kernels_.rope_neighbours : kernels_.rope_halves;
  const auto finish_head = [&](float* head, const float* norm) {
    if (norm != nullptr) kernels_.rms_norm(head, norm, dim, config_.rms_epsilon, head);
    rope(head, cosines, sines, dim);
  };
  for (int head = 0; head < config_.num_heads; ++head) finish_head(q + head * dim, w.q_norm);
  for (int head = 0; head < config_.num_kv_heads; ++head) finish_head(k + head * dim, w.k_norm);
  kernels_.scale(q, config_.attention_scale, config_.q_width());
  const auto kv_type = static_cast<std::size_t>(kv_.shape().type);
  kernels_.write_kv[kv_type](kv_.layer(place.group, place.layer), block, token_in_block, k, v);
}

void Transformer::attend(int group, const KvLayer& kv) {
  plans_[static_cast<std::size_t>(group)].run(kv, kernels_.attention[static_cast<std::size_t>(kv_.shape().type)],
                                              kernels_.merge_tiles, pool_);
}

void Transformer::norm_row(const Norm& norm, std::int64_t x_row, std::int64_t row, int rows) {
  const std::int64_t width = config_.width;
  kernels_.rms_norm(act_.x.data() + x_row * width, norm.weight, width, config_.rms_epsilon,
                    act_.h.data() + row * width);
  if (norm.quantize) quantize(act_.h.data(), config_.width, row, rows);
}

void Transformer::quantize(const float* x, std::int64_t cols, std::int64_t row, int rows) {
  kernels_.quantize_row(x + row * cols, cols, act_.int8.slot(row, rows, cols));
}

void Transformer::add_residual(const float* post_norm, std::int64_t row) {
  float* h = act_.h.data() + row * config_.width;
  if (post_norm != nullptr) kernels_.rms_norm(h, post_norm, config_.width, config_.rms_epsilon, h);
  kernels_.add(act_.x.data() + row * config_.width, h, config_.width);
}

template <class Body>
void Transformer::for_rows(int rows, const Body& body) {
  pool_.for_ranges(static_cast<std::size_t>(rows), kRowGrain, [&](std::size_t begin, std::size_t end, int worker) {
    for (std::size_t row = begin; row < end; ++row) body(static_cast<std::int64_t>(row), worker);
  });
}

void Transformer::multiply(std::span<const Product> products, const float* x, std::int64_t cols, int rows) {
  octavo::multiply(products, act_.int8.view(x, cols), rows, kernels_, scratch_, pool_);
}

std::span<const float> Transformer::logits(std::span<const std::int32_t> rows) {
  const int count = static_cast<int>(rows.size());
  OCTAVO_CHECK(count <= kMaxLogitRows, "{} rows of logits", count);
  const Norm norm{weights_.output_norm, is_quantized(weights_.output)};
  for_rows(count, [&](std::int64_t i, int) { norm_row(norm, rows[static_cast<std::size_t>(i)], i, count); });
  const Product output{&weights_.output, act_.logits.data()};
  multiply({&output, 1}, act_.h.data(), config_.width, count);
  return {act_.logits.data(), rows.size() * static_cast<std::size_t>(config_.vocab_size)};
}

}  // namespace octavo
