#include "cpu/draft_head.h"

#include <algorithm>

#include "base/error.h"
#include "base/to_size.h"

namespace octavo {

DraftHead::DraftHead(const ModelConfig& config, const Weights& weights, SnapshotArena& snapshots,
                     ComputeContext& context, ResidualStream& stream)
    : context_(context),
      stream_(stream),
      snapshots_(snapshots),
      weights_(weights.draft_head),
      output_norm_(weights.output_norm),
      width_(config.width),
      layer_(config.num_layers()),
      epsilon_(config.norm_epsilon),
      planned_(context.max_rows) {
  OCTAVO_CHECK(config.has_draft_head, "a head of a model without one");
  layer_weights_ = &weights.layers[to_size(layer_)];
  pairs_ = context.make_rows(2 * width_);
  projected_ = context.make_rows(width_);
  kept_ = AlignedBuffer<float>(to_size(kMaxDraftedRows) * to_size(width_));
  hidden_ = AlignedBuffer<float>(to_size(kMaxLogitRows) * to_size(width_));
}

void DraftHead::advance_states(std::span<const StateAdvance> advances) {
  planned_.plan_advances(advances);
  for (const RecurrentRows::Range& range : planned_.ranges())
    std::copy_n(kept_of(range, range.num_rows - 1), width_, state(range.state_slot));
}

/// Makes one row of the pairs. `hidden`: null stands for zeros, whose norm is zeros.
void DraftHead::embed_row(const Batch& batch, std::int64_t row, const float* hidden, int worker) {
  const KernelTable& kernels = context_.kernels;
  float *embedding = pair(row), *behind = embedding + width_;
  if (const float* given = batch.given_vector(row)) {
    std::copy_n(given, width_, embedding);
  } else {
    context_.scratch.decode_row(kernels, weights_.embedding, batch.tokens[to_size(row)], worker, embedding);
  }
  kernels.rms_norm(embedding, weights_.embedding_norm, width_, epsilon_, embedding);
  if (hidden == nullptr) {
    std::fill_n(behind, width_, 0.0F);
  } else {
    kernels.rms_norm(hidden, weights_.hidden_norm, width_, epsilon_, behind);
  }
}

void DraftHead::project(int rows, float* y) { stream_.multiply(weights_.projection, pairs_.data(), rows, y); }

void DraftHead::follow(const StepRows& rows, CpuStage& stage) {
  const Batch& batch = rows.batch();
  const int count = batch.num_rows();
  context_.enter(StepPart::kEmbedding);
  context_.for_rows(count, [&](std::int64_t row, int worker) {
    const auto s = to_size(rows.sequence_of(row));
    if (row == batch.seq_begin[s]) {
      embed_row(batch, row, batch.positions[to_size(row)] == 0 ? nullptr : state(batch.state_slots[s]), worker);
      return;
    }
    float* hidden = pair(row) + width_;
    context_.kernels.rms_norm(stream_.x(row - 1), output_norm_, width_, epsilon_, hidden);
    embed_row(batch, row, hidden, worker);
  });
  keep_hidden(batch);
  context_.enter(StepPart::kMixerInput);
  project(count, projected_.data());
  const RowForms forms = AttentionMixer::forms(std::get<AttentionWeights>(layer_weights_->mixer));
  context_.enter(StepPart::kRows);
  context_.for_rows(count, [&](std::int64_t row, int) {
    context_.kernels.rms_norm(projected_.data() + row * width_, layer_weights_->mixer_norm, width_, epsilon_,
                              stream_.h() + row * width_);
    stream_.quantize_row(forms, stream_.h(), width_, row, count);
  });
  stage.write_head_state(rows);
}

/// Keeps the hidden rows of each sequence's last known row and of its drafted rows.
void DraftHead::keep_hidden(const Batch& batch) {
  const auto keep = [&](std::int64_t row, float* to) {
    context_.kernels.rms_norm(stream_.x(row), output_norm_, width_, epsilon_, to);
  };
  planned_.plan(batch);
  for (const RecurrentRows::Range& range : planned_.ranges()) {
    const int first_drafted = range.first_row + range.num_known();
    keep(first_drafted - 1, state(range.state_slot));
    for (int i = 0; i < range.num_drafted; ++i) keep(first_drafted + i, kept_of(range, i));
  }
}

void DraftHead::begin(const GuessBatch& batch) {
  const std::vector<std::int32_t>& state_slots = batch.rows.state_slots;
  const int count = batch.rows.num_seqs();
  OCTAVO_CHECK(to_size(count) == state_slots.size(), "{} sequences with {} states", count, state_slots.size());
  rounds_.begin(batch, weights_.output);
  for (int s = 0; s < count; ++s)
    std::copy_n(state(state_slots[to_size(s)]), width_, hidden_.data() + std::int64_t{s} * width_);
}

const Batch* DraftHead::next() {
  ahead_ = rounds_.next();
  return ahead_;
}

void DraftHead::embed() {
  const int count = ahead_->num_rows();
  context_.enter(StepPart::kEmbedding);
  context_.for_rows_apart(count, [&](std::int64_t row, int worker) {
    const std::int32_t position = ahead_->positions[to_size(row)];
    embed_row(*ahead_, row, position == 0 ? nullptr : hidden_of(row), worker);
  });
  context_.enter(StepPart::kMixerInput);
  project(count, stream_.x(0));
}

void DraftHead::guess(float* logits) {
  const int count = ahead_->num_rows();
  const RowForms forms = weights_.output.forms();
  context_.enter(StepPart::kRows);
  context_.for_rows(count, [&](std::int64_t row, int) {
    context_.kernels.rms_norm(stream_.x(row), weights_.output_norm, width_, epsilon_, hidden_of(row));
    std::copy_n(hidden_of(row), width_, stream_.h() + row * width_);
    stream_.quantize_row(forms, stream_.h(), width_, row, count);
  });
  rounds_.choose(context_, stream_.input(), logits);
}

}  // namespace octavo
