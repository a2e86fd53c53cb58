#include "cpu/transformer.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "base/to_size.h"
#include "model/model_runner.h"

namespace octavo {
namespace {

/// The most columns of rows that are quantized in the residual stream.
int max_cols(const ModelConfig& config) {
  return std::max({CpuStage::max_cols(config), DraftHead::max_cols(config), config.per_layer_width});
}

}  // namespace

Transformer::Transformer(const ModelConfig& config, const Weights& weights, const KernelTable& kernels, Math math,
                         ThreadPool& pool, int max_rows)
    : config_(config),
      weights_(weights),
      context_{kernels, pool, weights.make_scratch(pool.num_threads()), max_rows, math},
      stream_(context_, config.width, max_cols(config), NormOptions::of(config)),
      rows_(max_rows),
      per_layer_(config, weights, context_, stream_),
      head_(config, weights, context_),
      spoiled_(max_rows),
      position_rows_(to_size(pool.num_threads()) * to_size(config.width)),
      ones_(config.normalizes_embedding ? to_size(config.width) : 0),
      logits_(config.is_encoder ? 0 : to_size(kMaxLogitRows) * to_size(config.vocab_size)) {
  std::ranges::fill(ones_.span(), 1.0F);
  not_finite_.reserve(to_size(max_rows));
  spoiled_sequences_.reserve(to_size(max_rows));
}

Result<void> Transformer::add_layers(LayerRange layers, const StateRoom& room) {
  const CpuStage::Shared shared{config_, weights_, context_, stream_, per_layer_};
  OCTAVO_TRY(own_.emplace_back(), CpuStage::create(shared, layers, room));
  CpuStage& made = *own_.back();
  stages_.push_back(&made);
  if (config_.has_draft_head && layers.contains(config_.num_layers()))
    draft_head_ = std::make_unique<DraftHead>(config_, weights_, made.snapshots(), context_, stream_);
  return {};
}

void Transformer::add_stage(DeviceStage& stage) {
  device_ = &stage;
  stages_.push_back(&stage);
}

void Transformer::add_assistant(const AssistantModel& assistant) {
  assistant_ =
      std::make_unique<Assistant>(assistant, config_, weights_, own_.back()->kv(), context_.kernels, context_.pool);
}

void Transformer::add_joint_pass() {
  OCTAVO_CHECK(device_ == nullptr && own_.size() == 1, "rows that see each other on another device");
  joint_pass_ = std::make_unique<JointPass>(config_, *own_.front(), stream_, context_.max_rows);
}

void Transformer::enter(const Stage& stage) const {
  if (&stage == device_) context_.enter(StepPart::kOtherDevice);
}

void Transformer::advance_states(std::span<const StateAdvance> advances) {
  if (advances.empty()) return;
  for (Stage* stage : stages_) {
    enter(*stage);
    stage->advance_states(advances);
  }
  if (draft_head_ != nullptr) draft_head_->advance_states(advances);
}

void Transformer::release(std::span<const BlockRun> runs) {
  for (Stage* stage : stages_) stage->release(runs);
}

void Transformer::copy_blocks(std::span<const BlockCopy> copies) {
  for (Stage* stage : stages_) stage->copy_blocks(copies);
}

BlockMemory* Transformer::block_memory() {
  if (device_ != nullptr || own_.size() != 1 || own_.front()->kv().layout().is_contiguous()) return nullptr;
  return own_.front().get();
}

bool Transformer::grow(const Batch& batch) {
  for (const std::unique_ptr<CpuStage>& stage : own_)
    for (int s = 0; s < batch.num_seqs(); ++s) {
      const int end = batch.kv_len[to_size(s)];
      const int num_kept = batch.positions[to_size(batch.seq_begin[to_size(s)])];
      if (stage->kv().must_grow(end) && !stage->kv().grow(num_kept, end)) return false;
    }
  return true;
}

std::uint64_t Transformer::grown_bytes() const {
  std::uint64_t bytes = 0;
  for (const std::unique_ptr<CpuStage>& stage : own_) bytes += stage->kv().grown_bytes();
  return bytes;
}

void Transformer::forward(const Batch& batch) {
  waited_ = {};
  if (!config_.is_encoder) return compute_layers(batch);
  const ThreadPool::Pauses pauses(context_.pool, batch.is_unwanted);
  compute_layers(batch);
  waited_ = pauses.waited();
}

bool Transformer::begin_joint_pass(const Batch& batch) {
  if (!grow(batch)) return false;
  copy_blocks(batch.copies);
  joint_pass_->begin(batch);
  return true;
}

void Transformer::end_joint_pass(const Batch& batch) {
  joint_end_ = &batch;
  waited_ = {};
  expert_bytes_ = 0;
  not_finite_.clear();
  spoiled_sequences_.clear();
  add_findings(joint_pass_->findings());
  const int count = std::min(static_cast<int>(batch.logit_rows.size()), kMaxLogitRows);
  if (assistant_ == nullptr || count == 0) return;
  take_joint_rows(0, count);
  assistant_->keep_hidden(stream_, count);
}

void Transformer::take_joint_rows(int first, int count) {
  for (int i = 0; i < count; ++i)
    std::copy_n(joint_pass_->row(joint_end_->logit_rows[to_size(first + i)]), config_.width, stream_.x(i));
}

void Transformer::compute_layers(const Batch& batch) {
  context_.enter(StepPart::kScheduling);
  joint_end_ = nullptr;
  rows_.begin(batch);
  expert_bytes_ = 0;
  not_finite_.clear();
  spoiled_sequences_.clear();
  embed(batch);
  if (config_.per_layer_width > 0) per_layer_.embed(batch);
  for (Stage* stage : stages_) {
    if (rows_.count() == 0) return;
    enter(*stage);
    stage->forward(rows_, stream_.x(0));
    add_findings(stage->findings());
  }
  if (rows_.count() == 0) return;
  if (draft_head_ != nullptr) end_with_draft_head(batch);
  if (assistant_ != nullptr) assistant_->keep_hidden(stream_, rows_.count());
}

void Transformer::add_findings(const StageFindings& found) {
  expert_bytes_ += found.expert_bytes;
  for (const std::int32_t sequence : found.not_finite)
    if (std::ranges::find(not_finite_, sequence) == not_finite_.end()) not_finite_.push_back(sequence);
  spoiled_sequences_.insert(spoiled_sequences_.end(), found.spoiled.begin(), found.spoiled.end());
}

void Transformer::end_with_draft_head(const Batch& batch) {
  spoiled_.clear();
  spoiled_.find(context_, stream_, rows_);  // before the draft head, which is the last layer with state
  add_findings({.spoiled = spoiled_.sequences()});
  draft_head_->follow(rows_, *own_.back());
  if (batch.logit_rows.size() == batch.tokens.size()) return;
  rows_.keep_logit_rows();
  stream_.keep_rows(batch.logit_rows);
}

std::span<const GuessedToken> Transformer::guess(const GuessBatch& batch) {
  if (assistant_ != nullptr) return assistant_->guess(batch);
  OCTAVO_CHECK(draft_head_ != nullptr, "guesses without a head");
  draft_head_->begin(batch);
  while (const Batch* ahead = draft_head_->next()) {
    rows_.begin(*ahead);
    draft_head_->embed();
    own_.back()->forward_head(rows_);
    draft_head_->guess(logits_.data());
  }
  return draft_head_->guesses();
}

void Transformer::embed(const Batch& batch) {
  context_.enter(StepPart::kEmbedding);
  context_.for_rows(batch.num_rows(), [&](std::int64_t row, int worker) { embed_row(batch, row, worker); });
}

void Transformer::embed_row(const Batch& batch, std::int64_t row, int worker) {
  const KernelTable& kernels = context_.kernels;
  float* x = stream_.x(row);
  if (const float* given = batch.given_vector(row)) {
    std::copy_n(given, config_.width, x);
  } else {
    context_.scratch.decode_row(kernels, weights_.embedding, batch.tokens[to_size(row)], worker, x);
    if (config_.embedding_scale != 1) kernels.scale(x, config_.embedding_scale, config_.width);
  }
  if (config_.normalizes_embedding) stream_.norm_in_place({.weight = ones_.data()}, row);
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

void Transformer::finish_logits(int count) {
  constexpr std::size_t kGrain = 8192;
  const auto finish = [&](std::size_t begin, std::size_t end, int) {
    float* logits = logits_.data() + begin;
    const auto size = static_cast<std::int64_t>(end - begin);
    if (config_.logit_scale != 1) context_.kernels.scale(logits, config_.logit_scale, size);
    if (config_.logit_soft_cap != 0) context_.kernels.soft_cap(logits, config_.logit_soft_cap, size);
  };
  context_.pool.for_ranges(to_size(count) * to_size(config_.vocab_size), kGrain, finish);
}

void Transformer::norm_logit_rows(const Norm& norm, int first, int count) {
  OCTAVO_CHECK(count <= kMaxLogitRows, "{} rows of logits", count);
  context_.enter(StepPart::kRows);
  if (joint_end_ != nullptr) {
    take_joint_rows(first, count);
    first = 0;
  }
  context_.for_rows(count, [&](std::int64_t i, int) { stream_.norm_row(norm, first + i, i, count); });
}

std::span<const float> Transformer::hidden_rows(int first, int count) {
  norm_logit_rows({.weight = weights_.output_norm, .bias = weights_.output_norm_bias}, first, count);
  return {stream_.h(), to_size(count) * to_size(config_.width)};
}

std::span<const float> Transformer::vector_of(std::span<const float> pooled) { return head_.vector_of(pooled); }
std::span<const float> Transformer::scores_of(std::span<const float> pooled) { return head_.scores_of(pooled); }

std::span<const float> Transformer::logits(int first, int count) {
  OCTAVO_CHECK(!config_.is_encoder, "an encoder has no logits");
  if (device_ != nullptr && device_->has_output()) {
    enter(*device_);
    return device_->logits(first, count);
  }
  norm_logit_rows({.weight = weights_.output_norm, .bias = weights_.output_norm_bias, .forms = weights_.output.forms()},
                  first, count);
  context_.enter(StepPart::kLogits);
  context_.multiply(weights_.output, stream_.input(), count, logits_.data());
  if (weights_.output_bias != nullptr)
    context_.for_rows(count, [&](std::int64_t i, int) {
      context_.kernels.add(logits_.data() + i * config_.vocab_size, weights_.output_bias, config_.vocab_size);
    });
  if (config_.logit_scale != 1 || config_.logit_soft_cap != 0) finish_logits(count);
  return {logits_.data(), to_size(count) * to_size(config_.vocab_size)};
}

}  // namespace octavo
