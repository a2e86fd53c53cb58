#include "cpu/guess_rounds.h"

#include <algorithm>
#include <cmath>
#include <functional>

#include "base/error.h"
#include "base/to_size.h"
#include "sampler/softmax.h"
#include "sampler/top_tokens.h"

namespace octavo {
namespace {

constexpr std::int64_t kPanelsOfAPiece = 32;

}  // namespace

void GuessRounds::begin(const GuessBatch& batch, const WeightMatrix& output) {
  const int count = batch.rows.num_seqs();
  OCTAVO_CHECK(count == batch.rows.num_rows() && count <= kMaxLogitRows && to_size(count) == batch.num_guesses.size() &&
                   to_size(count) == batch.draws.size(),
               "{} rows of {} sequences", batch.rows.num_rows(), count);
  batch_ = &batch;
  output_ = &output;
  ahead_ = batch.rows;
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

/// Lists the panels that guesses look at: those of the common words, in pieces, then those of the other candidates.
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
  const Batch& batch = batch_->rows;
  rows_.clear();
  ahead_.tokens.clear();
  ahead_.positions.clear();
  ahead_.rope_positions.clear();
  ahead_.seq_begin.assign(1, 0);
  for (int s = 0; s < batch.num_seqs(); ++s) {
    const auto at = to_size(s);
    if (num_made_ < batch_->num_guesses[at]) {
      rows_.push_back(s);
      const std::int32_t guessed = num_made_ == 0 ? 0 : guesses_[to_size(first_[at] + num_made_ - 1)].token;
      ahead_.add_row(num_made_ == 0 ? batch.tokens[at] : guessed, batch.positions[at] + num_made_,
                     batch.rope_positions[at] + num_made_);
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
  while (scratches_.size() < to_size(context.pool.num_threads())) scratches_.emplace_back(context.math);
  context.for_rows_apart(count, [&](std::int64_t row, int worker) {
    const int sequence = sequence_of(row);
    guesses_[to_size(first_[to_size(sequence)] + num_made_)] =
        guess(logits + row * output_->rows, sequence, scratches_[to_size(worker)]);
  });
  ++num_made_;
}

std::span<const std::int32_t> GuessRounds::candidates_of(int sequence) const {
  const auto s = to_size(sequence);
  const auto begin = to_size(batch_->candidate_begin[s]), end = to_size(batch_->candidate_begin[s + 1]);
  return std::span(batch_->candidates).subspan(begin, end - begin);
}

/// The likeliest of the words that a sequence may guess, with their logits, the likeliest first: as many as `room` has.
/// Logits that are NaN count as the lowest.
std::span<TokenLogprob> GuessRounds::likeliest(const float* logits, int sequence, std::span<TokenLogprob> room) const {
  const std::span<const float> common(logits, to_size(num_common()));
  const std::span<TokenLogprob> top = room.first(std::min(room.size(), common.size()));
  find_top_tokens(common, 0, top);
  for (const std::int32_t token : candidates_of(sequence)) {
    const float logit = finite_logit(logits[token]);
    if (!(logit > top.back().logprob)) continue;
    const auto place = std::ranges::upper_bound(top, logit, std::greater<>(), &TokenLogprob::logprob);
    std::move_backward(place, top.end() - 1, top.end());
    *place = {.token = token, .logprob = logit};
  }
  return top;
}

/// Draws one of the words as the sampler would if there were no others. It sorts them by id.
TokenLogprob GuessRounds::draw(std::span<TokenLogprob> words, int sequence, Scratch& scratch) const {
  const auto s = to_size(sequence);
  const GuessDraw& settings = batch_->draws[s];
  std::ranges::sort(words, {}, &TokenLogprob::token);
  std::array<float, kDrawnAmong> logits = {};
  std::ranges::transform(words, logits.begin(), &TokenLogprob::logprob);
  const int count = static_cast<int>(words.size());
  SamplingParams& params = scratch.params;
  params.temperature = settings.temperature;
  params.top_k = settings.top_k;
  params.top_p = settings.top_p;
  params.min_p = settings.min_p;
  const DrawKey key{.seed = settings.seed,
                    .choice = settings.choice,
                    .position = static_cast<std::uint32_t>(batch_->rows.positions[s] + num_made_ + 1)};
  const std::span<const float> row = std::span(logits).first(words.size());
  return words[to_size(sample(row, count, params, key, scratch.sampler, {.wants_logprob = false}).token)];
}

GuessedToken GuessRounds::guess(const float* logits, int sequence, Scratch& scratch) const {
  std::array<TokenLogprob, kDrawnAmong> room = {};
  const bool draws = batch_->draws[to_size(sequence)].temperature > 0;
  const std::span<TokenLogprob> top = likeliest(logits, sequence, std::span(room).first(draws ? room.size() : 1));
  const TokenLogprob best = top.front();
  const TokenLogprob chosen = draws ? draw(top, sequence, scratch) : best;
  const Math math = scratch.sampler.math;
  double sum = softmax_total({logits, to_size(num_common())}, best.logprob);
  for (const std::int32_t token : candidates_of(sequence))
    sum += math.exp(double{finite_logit(logits[token])} - double{best.logprob});
  const double chance = math.exp(double{chosen.logprob} - double{best.logprob}) / sum;
  const bool is_number = std::isfinite(logits[best.token]);
  return {.token = chosen.token, .chance = is_number ? static_cast<std::int32_t>(GuessedToken::kSure * chance) : 0};
}

}  // namespace octavo
