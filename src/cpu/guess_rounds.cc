#include "cpu/guess_rounds.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/to_size.h"

namespace octavo {
namespace {

constexpr std::int64_t kPanelsOfAPiece = 32;
constexpr float kLeast = 20;  // logits so far below the largest add nothing to a chance

}  // namespace

void GuessRounds::begin(const Batch& batch, const WeightMatrix& output) {
  const int count = batch.num_seqs();
  OCTAVO_CHECK(count == batch.num_rows() && count <= kMaxLogitRows && to_size(count) == batch.num_guesses.size(),
               "{} rows of {} sequences", batch.num_rows(), count);
  batch_ = &batch;
  output_ = &output;
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
  list_panels();
}

/// The common words' panels in pieces, and those of the candidates behind them.
void GuessRounds::list_panels() {
  const std::int64_t all = num_panels(output_->rows);
  const std::int64_t common = std::min<std::int64_t>(all, kCommonTokens / kPanelRows);
  panels_.clear();
  for (std::int64_t begin = 0; begin < common; begin += kPanelsOfAPiece)
    panels_.push_back({begin, std::min(begin + kPanelsOfAPiece, common)});
  const std::size_t num_common = panels_.size();
  for (const std::int32_t token : batch_->candidates)
    if (const std::int64_t panel = token / kPanelRows; panel >= common && panel < all)
      panels_.push_back({panel, panel + 1});
  const auto others = std::span(panels_).subspan(num_common);
  std::ranges::sort(others, {}, &Panels::begin);
  const auto repeated = std::ranges::unique(others, {}, &Panels::begin);
  panels_.resize(panels_.size() - repeated.size());
}

const Batch* GuessRounds::next() {
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

void GuessRounds::choose(ComputeContext& context, const ActivationRows& normed, float* logits) {
  const int count = num_rows();
  context.enter(StepPart::kLogits);
  const Product product{output_, logits};
  context.pool.for_ranges(panels_.size(), 1, [&](std::size_t begin, std::size_t end, int worker) {
    for (std::size_t i = begin; i < end; ++i)
      multiply_part(product, normed, {panels_[i].begin, panels_[i].end, 0, count}, context.kernels, context.scratch,
                    worker);
  });
  context.for_rows_apart(count, [&](std::int64_t row, int) {
    const int sequence = sequence_of(row);
    guesses_[to_size(first_[to_size(sequence)] + num_made_)] =
        likeliest(logits + row * output_->rows, sequence, context.math);
  });
  ++num_made_;
}

/// The likeliest of the words that the sequence's guesses may be. Logits that are no numbers give the first one.
GuessedToken GuessRounds::likeliest(const float* logits, int sequence, Math math) const {
  const auto common = static_cast<std::int32_t>(std::min<std::int64_t>(output_->rows, kCommonTokens));
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
    if (below < kLeast) sum += math.exp(-below);
  };
  for (std::int32_t token = 0; token < common; ++token) add(logits[token]);
  for (const std::int32_t token : others) add(logits[token]);
  const bool is_number = std::isfinite(logits[best]) && sum >= 1;
  return {.token = best, .chance = is_number ? static_cast<std::int32_t>(GuessedToken::kSure / sum) : 0};
}

}  // namespace octavo
