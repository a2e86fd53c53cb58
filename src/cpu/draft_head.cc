#include "cpu/draft_head.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/to_size.h"

namespace octavo {
namespace {

constexpr std::int64_t kPanelsOfAPiece = 32;
constexpr float kLeast = 20;  // logits so far below the largest add nothing to a chance

}  // namespace

DraftHead::DraftHead(const ModelConfig& config, const Weights& weights, SnapshotArena& snapshots,
                     ComputeContext& context, ResidualStream& stream)
    : context_(context),
      stream_(stream),
      snapshots_(snapshots),
      weights_(weights.draft_head),
      output_norm_(weights.output_norm),
      width_(config.width),
      layer_(config.num_layers()),
      epsilon_(config.norm_epsilon) {
  if (!config.has_draft_head) return;
  layer_weights_ = &weights.layers[to_size(layer_)];
  pairs_ = context.make_rows(2 * width_);
  projected_ = context.make_rows(width_);
  kept_ = AlignedBuffer<float>(to_size(kMaxDraftedRows) * to_size(width_));
  hidden_ = AlignedBuffer<float>(to_size(kMaxLogitRows) * to_size(width_));
}

void DraftHead::advance_states(std::span<const StateAdvance> advances) {
  if (layer_weights_ == nullptr) return;
  for (const auto& [slot, first_row, num_rows] : advances)
    if (num_rows > 0) std::copy_n(kept_.data() + std::int64_t{first_row + num_rows - 1} * width_, width_, state(slot));
}

/// One row of the pairs. `hidden`: null for zeros, whose norm is zeros.
void DraftHead::embed_row(std::int32_t token, const float* hidden, std::int64_t row, int worker) {
  const KernelTable& kernels = context_.kernels;
  float *embedding = pair(row), *behind = embedding + width_;
  context_.scratch.decode_row(kernels, weights_.embedding, token, worker, embedding);
  kernels.rms_norm(embedding, weights_.embedding_norm, width_, epsilon_, embedding);
  if (hidden == nullptr) {
    std::fill_n(behind, width_, 0.0F);
  } else {
    kernels.rms_norm(hidden, weights_.hidden_norm, width_, epsilon_, behind);
  }
}

void DraftHead::project(int rows, float* y) {
  if (weights_.projection.reads_int8()) stream_.quantize_rows(pairs_.data(), 2 * width_, rows);
  const Product product{&weights_.projection, y};
  context_.multiply({&product, 1}, stream_.quantized(pairs_.data(), 2 * width_), rows);
}

void DraftHead::follow(const StepRows& rows, AttentionMixer& attention) {
  const Batch& batch = rows.batch();
  const int count = batch.num_rows();
  context_.enter(StepPart::kEmbedding);
  context_.for_rows(count, [&](std::int64_t row, int worker) {
    const auto s = to_size(rows.sequence_of(row));
    const std::int32_t token = batch.tokens[to_size(row)];
    if (row == batch.seq_begin[s]) {
      embed_row(token, batch.positions[to_size(row)] == 0 ? nullptr : state(batch.state_slots[s]), row, worker);
      return;
    }
    float* hidden = pair(row) + width_;
    context_.kernels.rms_norm(stream_.x(row - 1), output_norm_, width_, epsilon_, hidden);
    embed_row(token, hidden, row, worker);
  });
  keep_hidden(batch);
  context_.enter(StepPart::kMixerInput);
  project(count, projected_.data());
  const bool quantize = AttentionMixer::reads_int8(std::get<AttentionWeights>(layer_weights_->mixer));
  context_.enter(StepPart::kRows);
  context_.for_rows(count, [&](std::int64_t row, int) {
    context_.kernels.rms_norm(projected_.data() + row * width_, layer_weights_->mixer_norm, width_, epsilon_,
                              stream_.h() + row * width_);
    if (quantize) stream_.quantize_row(stream_.h(), width_, row, count);
  });
  attention.write_state(layer_, rows);
}

/// Keeps the hidden rows behind the last known row of each sequence, and behind drafted ones.
void DraftHead::keep_hidden(const Batch& batch) {
  const auto keep = [&](std::int64_t row, float* to) {
    context_.kernels.rms_norm(stream_.x(row), output_norm_, width_, epsilon_, to);
  };
  float* kept = kept_.data();
  for (std::size_t s = 0; s < batch.state_slots.size(); ++s) {
    const int end = batch.seq_begin[s + 1], first_drafted = end - batch.num_drafted[s];
    keep(first_drafted - 1, state(batch.state_slots[s]));
    for (int row = first_drafted; row < end; ++row, kept += width_) keep(row, kept);
  }
}

void DraftHead::begin(const Batch& batch) {
  const int count = batch.num_seqs();
  OCTAVO_CHECK(layer_weights_ != nullptr && count == batch.num_rows() && count <= kMaxLogitRows &&
                   to_size(count) == batch.num_guesses.size() && to_size(count) == batch.state_slots.size(),
               "{} rows of {} sequences", batch.num_rows(), count);
  batch_ = &batch;
  ahead_ = batch;
  num_made_ = 0;
  first_.clear();
  std::int32_t num_guesses = 0;
  for (const std::int32_t number : batch.num_guesses) {
    OCTAVO_CHECK(number >= 1, "{} guesses", number);
    first_.push_back(num_guesses);
    num_guesses += number;
  }
  guesses_.assign(to_size(num_guesses), {});
  for (int s = 0; s < count; ++s)
    std::copy_n(state(batch.state_slots[to_size(s)]), width_, hidden_.data() + std::int64_t{s} * width_);
  list_panels(batch);
}

/// The common words' panels in pieces, and those of the candidates behind them.
void DraftHead::list_panels(const Batch& batch) {
  const std::int64_t all = num_panels(weights_.output.rows);
  const std::int64_t common = std::min<std::int64_t>(all, kCommonTokens / kPanelRows);
  panels_.clear();
  for (std::int64_t begin = 0; begin < common; begin += kPanelsOfAPiece)
    panels_.push_back({begin, std::min(begin + kPanelsOfAPiece, common)});
  const std::size_t num_common = panels_.size();
  for (const std::int32_t token : batch.candidates)
    if (const std::int64_t panel = token / kPanelRows; panel >= common && panel < all)
      panels_.push_back({panel, panel + 1});
  const auto others = std::span(panels_).subspan(num_common);
  std::ranges::sort(others, {}, &Panels::begin);
  const auto repeated = std::ranges::unique(others, {}, &Panels::begin);
  panels_.resize(panels_.size() - repeated.size());
}

const Batch* DraftHead::next() {
  const Batch& batch = *batch_;
  rows_.clear();
  ahead_.tokens.clear();
  ahead_.positions.clear();
  ahead_.seq_begin.assign(1, 0);
  for (int s = 0; s < batch.num_seqs(); ++s) {
    const auto at = to_size(s);
    if (num_made_ < batch.num_guesses[at]) {
      rows_.push_back(s);
      const std::int32_t guessed = num_made_ == 0 ? 0 : guesses_[to_size(first_[at] + num_made_ - 1)].token;
      ahead_.tokens.push_back(num_made_ == 0 ? batch.tokens[at] : guessed);
      ahead_.positions.push_back(batch.positions[at] + num_made_);
    }
    ahead_.seq_begin.push_back(ahead_.num_rows());
  }
  return rows_.empty() ? nullptr : &ahead_;
}

void DraftHead::embed() {
  const int count = ahead_.num_rows();
  context_.enter(StepPart::kEmbedding);
  context_.for_rows_apart(count, [&](std::int64_t row, int worker) {
    const std::int32_t position = ahead_.positions[to_size(row)];
    const float* hidden = hidden_.data() + std::int64_t{rows_[to_size(row)]} * width_;
    embed_row(ahead_.tokens[to_size(row)], position == 0 ? nullptr : hidden, row, worker);
  });
  context_.enter(StepPart::kMixerInput);
  project(count, stream_.x(0));
}

void DraftHead::guess(float* logits) {
  const int count = ahead_.num_rows();
  const std::int64_t vocab_size = weights_.output.rows;
  const bool quantize = weights_.output.reads_int8();
  context_.enter(StepPart::kRows);
  context_.for_rows(count, [&](std::int64_t row, int) {
    float* hidden = hidden_.data() + std::int64_t{rows_[to_size(row)]} * width_;
    context_.kernels.rms_norm(stream_.x(row), weights_.output_norm, width_, epsilon_, hidden);
    std::copy_n(hidden, width_, stream_.h() + row * width_);
    if (quantize) stream_.quantize_row(stream_.h(), width_, row, count);
  });
  context_.enter(StepPart::kLogits);
  const Product product{&weights_.output, logits};
  const ActivationRows input = stream_.input();
  context_.pool.for_ranges(panels_.size(), 1, [&](std::size_t begin, std::size_t end, int worker) {
    for (std::size_t i = begin; i < end; ++i)
      multiply_part(product, input, {panels_[i].begin, panels_[i].end, 0, count}, context_.kernels, context_.scratch,
                    worker);
  });
  context_.for_rows_apart(count, [&](std::int64_t row, int) {
    const int sequence = rows_[to_size(row)];
    guesses_[to_size(first_[to_size(sequence)] + num_made_)] = choose(logits + row * vocab_size, sequence);
  });
  ++num_made_;
}

/// The likeliest of the words that the sequence's guesses may be. Logits that are no numbers give the first one.
GuessedToken DraftHead::choose(const float* logits, int sequence) const {
  const auto common = static_cast<std::int32_t>(std::min<std::int64_t>(weights_.output.rows, kCommonTokens));
  const auto s = to_size(sequence);
  const auto others = std::span(batch_->candidates)
                          .subspan(to_size(batch_->candidate_begin[s]),
                                   to_size(batch_->candidate_begin[s + 1] - batch_->candidate_begin[s]));
  std::int32_t best = 0;
  for (std::int32_t token = 1; token < common; ++token)
    if (logits[token] > logits[best]) best = token;
  for (const std::int32_t token : others)
    if (logits[token] > logits[best]) best = token;
  float sum = 0;
  const auto add = [&](float logit) {
    const float below = logits[best] - logit;
    if (below < kLeast) sum += context_.math.exp(-below);
  };
  for (std::int32_t token = 0; token < common; ++token) add(logits[token]);
  for (const std::int32_t token : others) add(logits[token]);
  const bool is_number = std::isfinite(logits[best]) && sum >= 1;
  return {.token = best, .chance = is_number ? static_cast<std::int32_t>(GuessedToken::kSure / sum) : 0};
}

}  // namespace octavo
