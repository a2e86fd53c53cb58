#include "cpu/transformer.h"

#include <algorithm>

#include "base/error.h"
#include "base/to_size.h"
#include "model/model_runner.h"

namespace octavo {
namespace {

bool reads_int8(const AttentionWeights& w) { return AttentionMixer::reads_int8(w); }
bool reads_int8(const DeltaWeights& w) { return DeltaMixer::reads_int8(w); }

/// The widest rows that are quantized in the residual stream.
int max_cols(const ModelConfig& config) {
  return std::max({config.width, AttentionMixer::max_cols(config), DeltaMixer::max_cols(config),
                   DraftHead::max_cols(config), config.per_layer_width});
}

}  // namespace

Transformer::Transformer(const ModelConfig& config, const Weights& weights, const KvArena& kv, SnapshotArena& snapshots,
                         const KernelTable& kernels, Math math, ThreadPool& pool, int max_rows)
    : config_(config),
      weights_(weights),
      kv_(kv),
      last_layer_with_state_(config.last_layer_with_state()),
      context_{kernels, pool, weights.make_scratch(pool.num_threads()), max_rows, math},
      stream_(context_, config.width, max_cols(config), config.norm_epsilon, config.norm),
      rows_(max_rows),
      attention_(config, weights, kv, context_, stream_),
      delta_(config, weights, snapshots, context_, stream_),
      dense_ffn_(config, context_, stream_),
      experts_ffn_(config, weights, context_, stream_, dense_ffn_),
      per_layer_(config, weights, context_, stream_),
      draft_head_(config, weights, snapshots, context_, stream_),
      head_(config, weights, context_),
      spoiled_(max_rows),
      position_rows_(to_size(pool.num_threads()) * to_size(config.width)),
      logits_(config.is_encoder ? 0 : to_size(kMaxLogitRows) * to_size(config.vocab_size)) {}

void Transformer::forward(const Batch& batch) {
  waited_ = {};
  if (!config_.is_encoder) return compute_layers(batch);
  const ThreadPool::Pauses pauses(context_.pool, batch.is_unwanted);
  compute_layers(batch);
  waited_ = pauses.waited();
}

// Behind the last layer that writes state only rows whose logits are wanted are seen. Of the other rows, nearly all of
// a prompt's, that layer computes its state alone.
void Transformer::compute_layers(const Batch& batch) {
  context_.enter(StepPart::kScheduling);
  rows_.begin(batch);
  experts_ffn_.begin();
  spoiled_.clear();
  attention_.plan(rows_);
  attention_.compute_angles(batch);
  delta_.plan(batch);
  embed(batch);
  if (config_.per_layer_width > 0) per_layer_.embed(batch);
  const int first = leading_ != nullptr ? compute_leading_layers(batch) : 0;
  if (rows_.count() == 0) return;
  if (first < config_.num_layers()) norm_rows(mixer_norm(first));
  for (int i = first; i < config_.num_layers(); ++i) {
    if (i == last_layer_with_state_) spoiled_.find(context_, stream_, rows_);
    const bool narrows = i == last_layer_with_state_ && batch.logit_rows.size() < batch.tokens.size();
    if (narrows) {
      write_state(i);
      if (batch.logit_rows.empty()) return;
      rows_.keep_logit_rows();
      stream_.keep_rows(batch.logit_rows);
      norm_rows(mixer_norm(i));
      attention_.plan(rows_);
    }
    layer(i, narrows);
  }
  if (config_.has_draft_head) end_with_draft_head(batch);
  if (assistant_ != nullptr) assistant_->keep_hidden(stream_, static_cast<int>(batch.logit_rows.size()));
}

int Transformer::compute_leading_layers(const Batch& batch) {
  context_.enter(StepPart::kOtherDevice);
  leading_->forward(batch, attention_, stream_.x(0));
  experts_ffn_.add_counts(leading_->expert_bytes(), leading_->not_finite());
  if (leading_->count() <= last_layer_with_state_) return leading_->count();
  spoiled_.assign(leading_->spoiled());
  rows_.keep_logit_rows();
  return leading_->count();
}

void Transformer::add_leading_layers(LeadingLayers& layers) {
  leading_ = &layers;
  delta_.leave_out(layers.count());
}

void Transformer::advance_states(std::span<const StateAdvance> advances) {
  if (leading_ != nullptr && !advances.empty()) {
    context_.enter(StepPart::kOtherDevice);
    leading_->advance_states(advances);
  }
  delta_.advance_states(advances);
  draft_head_.advance_states(advances);
}

void Transformer::add_assistant(const AssistantModel& assistant) {
  assistant_ = std::make_unique<Assistant>(assistant, config_, weights_, kv_, context_.kernels, context_.pool);
}

void Transformer::end_with_draft_head(const Batch& batch) {
  spoiled_.find(context_, stream_, rows_);  // the head is the last layer with state
  draft_head_.follow(rows_, attention_);
  if (batch.logit_rows.size() == batch.tokens.size()) return;
  rows_.keep_logit_rows();
  stream_.keep_rows(batch.logit_rows);
}

std::span<const GuessedToken> Transformer::guess(const GuessBatch& batch) {
  if (assistant_ != nullptr) return assistant_->guess(batch);
  const int head = config_.num_layers();
  experts_ffn_.begin();
  draft_head_.begin(batch);
  while (const Batch* ahead = draft_head_.next()) {
    context_.enter(StepPart::kScheduling);
    rows_.begin(*ahead);
    attention_.plan(rows_);
    attention_.compute_angles(*ahead);
    draft_head_.embed();
    norm_rows(mixer_norm(head));
    layer(head, false);
    draft_head_.guess(logits_.data());
  }
  return draft_head_.guesses();
}

void Transformer::embed(const Batch& batch) {
  context_.enter(StepPart::kEmbedding);
  context_.for_rows(batch.num_rows(), [&](std::int64_t row, int worker) { embed_row(batch, row, worker); });
}

void Transformer::embed_row(const Batch& batch, std::int64_t row, int worker) {
  const KernelTable& kernels = context_.kernels;
  float* x = stream_.x(row);
  if (const float* given = batch.given_vector(row, config_.width)) {
    std::copy_n(given, config_.width, x);
  } else {
    context_.scratch.decode_row(kernels, weights_.embedding, batch.tokens[to_size(row)], worker, x);
    if (config_.embedding_scale != 1) kernels.scale(x, config_.embedding_scale, config_.width);
  }
  const auto add = [&](const WeightMatrix& table, std::int32_t index) {
    float* own = position_rows_.data() + to_size(worker) * to_size(config_.width);
    context_.scratch.decode_row(kernels, table, index, worker, own);
    kernels.add(x, own, config_.width);
  };
  if (is_present(weights_.token_types))
    add(weights_.token_types, batch.token_types.empty() ? 0 : batch.token_types[to_size(row)]);
  if (is_present(weights_.positions)) add(weights_.positions, batch.positions[to_size(row)]);
  if (weights_.embedding_norm != nullptr)
    stream_.norm_in_place({.weight = weights_.embedding_norm, .bias = weights_.embedding_norm_bias}, row);
}

void Transformer::layer(int index, bool state_written) {
  const LayerSpec& spec = config_.layer(index);
  const LayerWeights& w = weights_.layers[to_size(index)];
  const Epilogue behind_mixer{.post_norm = w.post_mixer_norm,
                              .sum_norm = {.weight = w.mixer_sum_norm, .bias = w.mixer_sum_bias},
                              .next = feed_forward_norm(index)};
  std::visit([&](const auto& mixer) { mixer_of(mixer).run(index, rows_, state_written, behind_mixer); }, spec.mixer);
  Epilogue behind_layer{.sum_norm = {.weight = w.ffn_sum_norm, .bias = w.ffn_sum_bias},
                        .scale = w.output_scale != nullptr ? *w.output_scale : 1};
  if (index + 1 < config_.num_layers()) behind_layer.next = mixer_norm(index + 1);
  if (config_.per_layer_width == 0) {
    behind_layer.post_norm = w.post_ffn_norm;
    return run_feed_forward(index, behind_layer);
  }
  run_feed_forward(index, {.post_norm = w.post_ffn_norm, .next = PerLayerEmbedding::input_of(w.per_layer)});
  behind_layer.post_norm = w.per_layer.post_norm;
  per_layer_.run(index, rows_, behind_layer);
}

void Transformer::run_feed_forward(int layer, const Epilogue& epilogue) {
  std::visit([&](const auto& ffn) { run_feed_forward(ffn, layer, epilogue); }, config_.layer(layer).feed_forward);
}

void Transformer::write_state(int layer) {
  std::visit([&](const auto& mixer) { mixer_of(mixer).write_state(layer, rows_); }, config_.layer(layer).mixer);
}

void Transformer::run_feed_forward(const DenseFfnSpec& spec, int layer, const Epilogue& epilogue) {
  const LayerWeights& w = weights_.layers[to_size(layer)];
  dense_ffn_.run(spec, std::get<DenseFfnWeights>(w.feed_forward), rows_.count(), epilogue);
}

void Transformer::run_feed_forward(const ExpertsFfnSpec& spec, int layer, const Epilogue& epilogue) {
  const LayerWeights& w = weights_.layers[to_size(layer)];
  experts_ffn_.run(spec, std::get<ExpertsFfnWeights>(w.feed_forward), rows_, epilogue);
}

Norm Transformer::mixer_norm(int layer) const {
  const LayerWeights& w = weights_.layers[to_size(layer)];
  return {.weight = w.mixer_norm, .quantize = std::visit([](const auto& mixer) { return reads_int8(mixer); }, w.mixer)};
}

Norm Transformer::feed_forward_norm(int layer) const {
  const LayerWeights& w = weights_.layers[to_size(layer)];
  const auto* experts = std::get_if<ExpertsFfnWeights>(&w.feed_forward);
  const bool int8 = experts != nullptr ? ExpertsFfn::reads_int8(*experts)
                                       : DenseFfn::reads_int8(std::get<DenseFfnWeights>(w.feed_forward));
  return {.weight = w.ffn_norm, .quantize = int8};
}

void Transformer::norm_rows(const Norm& norm) {
  const int count = rows_.count();
  context_.enter(StepPart::kRows);
  context_.for_rows(count, [&](std::int64_t row, int) { stream_.norm_row(norm, row, row, count); });
}

void Transformer::cap_logits(int count) {
  constexpr std::size_t kGrain = 8192;
  context_.pool.for_ranges(to_size(count) * to_size(config_.vocab_size), kGrain,
                           [&](std::size_t begin, std::size_t end, int) {
                             context_.kernels.soft_cap(logits_.data() + begin, config_.logit_soft_cap,
                                                       static_cast<std::int64_t>(end - begin));
                           });
}

void Transformer::norm_logit_rows(const Norm& norm, int first, int count) {
  OCTAVO_CHECK(count <= kMaxLogitRows, "{} rows of logits", count);
  context_.enter(StepPart::kRows);
  context_.for_rows(count, [&](std::int64_t i, int) { stream_.norm_row(norm, first + i, i, count); });
}

std::span<const float> Transformer::hidden_rows(int first, int count) {
  norm_logit_rows({.weight = weights_.output_norm}, first, count);
  return {stream_.h(), to_size(count) * to_size(config_.width)};
}

std::span<const float> Transformer::vector_of(std::span<const float> pooled) { return head_.vector_of(pooled); }
std::span<const float> Transformer::scores_of(std::span<const float> pooled) { return head_.scores_of(pooled); }

std::span<const float> Transformer::logits(int first, int count) {
  OCTAVO_CHECK(!config_.is_encoder, "an encoder has no logits");
  if (leading_ != nullptr && leading_->has_output()) {
    context_.enter(StepPart::kOtherDevice);
    return leading_->logits(first, count);
  }
  norm_logit_rows({.weight = weights_.output_norm, .quantize = weights_.output.reads_int8()}, first, count);
  const Product output{&weights_.output, logits_.data()};
  context_.enter(StepPart::kLogits);
  context_.multiply({&output, 1}, stream_.input(), count);
  if (weights_.output_bias != nullptr)
    context_.for_rows(count, [&](std::int64_t i, int) {
      context_.kernels.add(logits_.data() + i * config_.vocab_size, weights_.output_bias, config_.vocab_size);
    });
  if (config_.logit_soft_cap != 0) cap_logits(count);
  return {logits_.data(), to_size(count) * to_size(config_.vocab_size)};
}

}  // namespace octavo
