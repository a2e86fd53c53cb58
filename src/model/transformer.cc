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
  attention_sequences_.reserve(static_cast<std::size_t>(max_rows));
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
  for (int i = 0; i + 1 < config_.num_layers; ++i) layer(batch, i);
  last_layer(batch);
}

void Transformer::plan_attention(const Batch& batch) {
  for (std::size_t g = 0; g < plans_.size(); ++g) {
    attention_sequences_.clear();
    for (std::size_t s = 0; s + 1 < batch.seq_begin.size(); ++s)
      add_attention(batch, g, batch.seq_begin[s], batch.seq_begin[s], batch.seq_begin[s + 1] - batch.seq_begin[s]);
    plans_[g].build(attention_sequences_, windows_[g], kv_.shape().block_size);
  }
}

void Transformer::plan_attention_of(const Batch& batch, std::size_t group, std::span<const std::int32_t> rows) {
  attention_sequences_.clear();
  const auto sequence_of = [&](std::size_t i) { return row_sequence_[static_cast<std::size_t>(rows[i])]; };
  for (std::size_t begin = 0, end = 0; begin < rows.size(); begin = end) {
    for (end = begin + 1; end < rows.size() && sequence_of(end) == sequence_of(begin);) {
      if (rows[end] != rows[end - 1] + 1) break;
      ++end;
    }
    add_attention(batch, group, rows[begin], static_cast<std::int64_t>(begin), static_cast<int>(end - begin));
  }
  plans_[group].build(attention_sequences_, windows_[group], kv_.shape().block_size);
}

void Transformer::add_attention(const Batch& batch, std::size_t group, std::int32_t batch_row, std::int64_t row,
                                int num_rows) {
  const Batch::Group& tables = batch.groups[group];
  const auto s = static_cast<std::size_t>(row_sequence_[static_cast<std::size_t>(batch_row)]);
  const std::int32_t* ids = tables.block_ids.data();
  attention_sequences_.push_back({.blocks = {ids + tables.block_begin[s], ids + tables.block_begin[s + 1]},
                                  .q = act_.q.data() + row * config_.q_width(),
                                  .out = act_.attended.data() + row * config_.q_width(),
                                  .first_position = batch.positions[static_cast<std::size_t>(batch_row)],
                                  .num_rows = num_rows});
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
  const LayerWeights& w = weights_.layers[static_cast<std::size_t>(index)];
  const int rows = batch.num_rows();
  const std::array<Product, 3> qkv = {{{&w.q, act_.q.data()}, {&w.k, act_.k.data()}, {&w.v, act_.v.data()}}};
  multiply(qkv, act_.h.data(), config_.width, rows);
  for_rows(rows, [&](std::int64_t row, int) {
    finish_q(index, row, row);
    write_kv(batch, index, row);
  });
  attention_block(index, rows);
  feed_forward_block(index, rows);
}

// Nobody sees more of the last layer than the rows whose logits are wanted: of the others it needs K and V. That is
// nearly the whole layer of a prompt.
void Transformer::last_layer(const Batch& batch) {
  const int index = config_.num_layers - 1;
  const int kept = static_cast<int>(batch.logit_rows.size());
  if (kept == batch.num_rows()) return layer(batch, index);
  const LayerWeights& w = weights_.layers[static_cast<std::size_t>(index)];
  const std::array<Product, 2> kv = {{{&w.k, act_.k.data()}, {&w.v, act_.v.data()}}};
  multiply(kv, act_.h.data(), config_.width, batch.num_rows());
  for_rows(batch.num_rows(), [&](std::int64_t row, int) { write_kv(batch, index, row); });
  if (kept == 0) return;
  keep_rows(batch.logit_rows);
  for_rows(kept, [&](std::int64_t row, int) { norm_row(attention_norm(index), row, row, kept); });
  const Product q{&w.q, act_.q.data()};
  multiply({&q, 1}, act_.h.data(), config_.width, kept);
  for_rows(kept, [&](std::int64_t row, int) { finish_q(index, row, batch.logit_rows[static_cast<std::size_t>(row)]); });
  plan_attention_of(batch, static_cast<std::size_t>(places_[static_cast<std::size_t>(index)].group), batch.logit_rows);
  attention_block(index, kept);
  feed_forward_block(index, kept);
}

void Transformer::keep_rows(std::span<const std::int32_t> rows) {
  const auto width = static_cast<std::size_t>(config_.width);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const auto from = static_cast<std::size_t>(rows[i]);
    OCTAVO_CHECK(from >= i && (i == 0 || rows[i] > rows[i - 1]), "row {} is out of order", from);
    if (from != i) std::copy_n(act_.x.data() + from * width, width, act_.x.data() + i * width);
  }
}

void Transformer::attention_block(int index, int rows) {
  const LayerWeights& w = weights_.layers[static_cast<std::size_t>(index)];
  const Place place = places_[static_cast<std::size_t>(index)];
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

void Transformer::finish_q(int index, std::int64_t row, std::int64_t batch_row) {
  const LayerWeights& w = weights_.layers[static_cast<std::size_t>(index)];
  float* q = act_.q.data() + row * config_.q_width();
  if (w.q_bias != nullptr) kernels_.add(q, w.q_bias, config_.q_width());
  turn_heads(index, batch_row, w.q_norm, config_.num_heads, q);
  kernels_.scale(q, config_.attention_scale, config_.q_width());
}

void Transformer::write_kv(const Batch& batch, int index, std::int64_t row) {
  const LayerWeights& w = weights_.layers[static_cast<std::size_t>(index)];
  float* k = act_.k.data() + row * config_.kv_width();
  float* v = act_.v.data() + row * config_.kv_width();
  if (w.k_bias != nullptr) kernels_.add(k, w.k_bias, config_.kv_width());
  if (w.v_bias != nullptr) kernels_.add(v, w.v_bias, config_.kv_width());
  turn_heads(index, row, w.k_norm, config_.num_kv_heads, k);
  const Place place = places_[static_cast<std::size_t>(index)];
  const KvLayer layer = kv_.layer(place.group, place.layer);
  const Batch::Group& tables = batch.groups[static_cast<std::size_t>(place.group)];
  const auto i = static_cast<std::size_t>(row);
  const int position = batch.positions[i];
  const int first_block = tables.block_begin[static_cast<std::size_t>(row_sequence_[i])];
  const std::int32_t block = tables.block_ids[static_cast<std::size_t>(first_block + position / layer.block_size)];
  kernels_.write_kv[static_cast<std::size_t>(kv_.shape().type)](layer, block, position % layer.block_size, k, v);
}

void Transformer::turn_heads(int index, std::int64_t batch_row, const float* norm, int num_heads, float* heads) {
  const int dim = config_.head_dim;
  const bool local = config_.is_windowed(index);
  const std::int64_t angles = batch_row * (dim / 2);
  const float* cosines = (local ? act_.local_cosines : act_.cosines).data() + angles;
  const float* sines = (local ? act_.local_sines : act_.sines).data() + angles;
  const auto rope =
      config_.arch->rope_pairs == RopePairs::kNeighbours ? kernels_.rope_neighbours : kernels_.rope_halves;
  for (float* head = heads; head != heads + num_heads * dim; head += dim) {
    if (norm != nullptr) kernels_.rms_norm(head, norm, dim, config_.rms_epsilon, head);
    rope(head, cosines, sines, dim);
  }
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

std::span<const float> Transformer::logits(int first, int count) {
  OCTAVO_CHECK(count <= kMaxLogitRows, "{} rows of logits", count);
  const Norm norm{weights_.output_norm, is_quantized(weights_.output)};
  for_rows(count, [&](std::int64_t i, int) { norm_row(norm, first + i, i, count); });
  const Product output{&weights_.output, act_.logits.data()};
  multiply({&output, 1}, act_.h.data(), config_.width, count);
  return {act_.logits.data(), static_cast<std::size_t>(count) * static_cast<std::size_t>(config_.vocab_size)};
}

}  // namespace octavo
