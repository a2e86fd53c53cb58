#include "sampler/logit_adjust.h"

#include <algorithm>
#include <array>
#include <bit>
#include <limits>

#include "base/error.h"
#include "base/to_size.h"
#include "sampler/softmax.h"

namespace octavo {
namespace {

constexpr float kLowest = -std::numeric_limits<float>::max();
constexpr std::uint32_t kPenalized = std::numeric_limits<std::uint32_t>::max();  // a count that no sequence reaches

// Keskar et al., "CTRL" (2019), with the sign handled as Hugging Face does it: a penalty always makes less likely.
float repeated(float logit, float penalty) { return logit > 0 ? logit / penalty : logit * penalty; }

bool has_penalty(const SamplingParams& params) {
  return params.repetition_penalty != 1 || params.frequency_penalty != 0 || params.presence_penalty != 0;
}

void forbid(std::span<float> row, TokenId token) {
  if (token >= 0 && to_size(token) < row.size()) row[to_size(token)] = kLowest;
}

void forbid_all(std::span<float> row, std::span<const TokenId> tokens) {
  for (const TokenId token : tokens) forbid(row, token);
}

/// Forbids all tokens that are not allowed. `marks` has an entry for each logit, all 0.
void forbid_all_but(std::span<float> row, std::span<const TokenId> allowed, std::vector<std::uint32_t>& marks) {
  const auto in_row = [&row](TokenId token) { return token >= 0 && to_size(token) < row.size(); };
  for (const TokenId token : allowed)
    if (in_row(token)) marks[to_size(token)] = 1;
  for (std::size_t i = 0; i < row.size(); ++i) row[i] = marks[i] == 0 ? kLowest : row[i];  // in vector code
  for (const TokenId token : allowed)
    if (in_row(token)) marks[to_size(token)] = 0;
}

/// Forbids the last token of each word whose other tokens are the answer's last ones.
void forbid_bad_words(std::span<float> row, std::span<const std::vector<TokenId>> words,
                      std::span<const TokenId> answer) {
  for (const std::vector<TokenId>& word : words) {
    if (word.empty() || word.size() - 1 > answer.size()) continue;
    const auto begun = std::span(word).first(word.size() - 1);
    if (std::ranges::equal(begun, answer.last(begun.size()))) forbid(row, word.back());
  }
}

constexpr std::size_t kMaskBits = 32;

/// Keeps the logits whose bits are set. Most words of a mask are all zeros or all ones; of others the rarer bits are
/// walked.
void keep_bits(std::span<float> logits, std::uint32_t word) {
  if (logits.size() < kMaskBits) {
    for (std::size_t i = 0; i < logits.size(); ++i) logits[i] = (word >> i & 1) != 0 ? logits[i] : kLowest;
    return;
  }
  if (2 * to_size(std::popcount(word)) > kMaskBits) {
    for (std::uint32_t left = ~word; left != 0; left &= left - 1) logits[to_size(std::countr_zero(left))] = kLowest;
    return;
  }
  std::array<float, kMaskBits / 2> kept{};
  std::size_t num_kept = 0;
  for (std::uint32_t left = word; left != 0; left &= left - 1)
    kept[num_kept++] = logits[to_size(std::countr_zero(left))];
  std::ranges::fill(logits, kLowest);
  num_kept = 0;
  for (std::uint32_t left = word; left != 0; left &= left - 1)
    logits[to_size(std::countr_zero(left))] = kept[num_kept++];
}

}  // namespace

LogitAdjuster::LogitAdjuster(int vocab_size, Math math) : dry_(math) {
  OCTAVO_CHECK(vocab_size >= 1, "vocabulary of {}", vocab_size);
  row_.resize(to_size(vocab_size));
  counts_.resize(to_size(vocab_size));
}

bool LogitAdjuster::changes(const SamplingParams& params, const DrawContext& context) {
  return has_penalty(params) || params.dry.multiplier > 0 || !params.logit_bias.empty() ||
         !params.allowed_tokens.empty() || !params.bad_words.empty() || !context.forbidden.empty() ||
         !context.suppressed.empty() || !context.allowed.empty();
}

std::span<const float> LogitAdjuster::adjust(std::span<const float> logits, const SamplingParams& params,
                                             const DrawContext& context) {
  OCTAVO_CHECK(logits.size() <= row_.size(), "a row of {} logits, room for {}", logits.size(), row_.size());
  const std::span<float> row = std::span(row_).first(logits.size());
  std::ranges::copy(logits, row.begin());
  if (has_penalty(params)) penalize(row, params, context);
  if (params.dry.multiplier > 0) dry_.apply(row, params.dry, context.tokens, context.dry_breakers);
  for (const auto& [token, bias] : params.logit_bias) {
    if (to_size(token) >= row.size()) continue;
    float& logit = row[to_size(token)];
    logit = bias <= kForbiddingBias ? kLowest : finite_logit(logit) + bias;
  }
  if (!params.allowed_tokens.empty()) forbid_all_but(row, params.allowed_tokens, counts_);
  forbid_bad_words(row, params.bad_words, context.tokens.subspan(to_size(context.prompt_tokens)));
  forbid_all(row, context.suppressed);
  forbid_all(row, context.forbidden);
  if (!context.allowed.empty()) keep_allowed(row, logits, context.allowed);
  return row;
}

/// Keeps the tokens that the constraint allows. A ban must not break a constraint: where both together leave nothing,
/// the constraint counts.
void LogitAdjuster::keep_allowed(std::span<float> row, std::span<const float> logits,
                                 std::span<const std::uint32_t> allowed) {
  constexpr float kAboveLowest = kLowest / 2;
  bool is_left = false;
  for (std::size_t begin = 0; begin < row.size(); begin += kMaskBits) {
    const std::span<float> here = row.subspan(begin, std::min(kMaskBits, row.size() - begin));
    const std::uint32_t word = begin / kMaskBits < allowed.size() ? allowed[begin / kMaskBits] : 0;
    keep_bits(here, word);
    is_left = is_left || (word != 0 && max_logit(here) > kLowest);
  }
  if (is_left) return;
  for (std::size_t i = 0; i < row.size(); ++i)
    if (is_allowed(allowed, static_cast<TokenId>(i))) row[i] = std::max(finite_logit(logits[i]), kAboveLowest);
}

void LogitAdjuster::penalize(std::span<float> row, const SamplingParams& params, const DrawContext& context) {
  const auto num_prompt = to_size(context.prompt_tokens);
  const std::size_t left_out =
      params.penalty_window == 0
          ? 0
          : context.tokens.size() - std::min(context.tokens.size(), to_size(params.penalty_window));
  const std::span<const TokenId> answer = context.tokens.subspan(std::max(num_prompt, left_out));
  // Penalties of the answer's tokens need their counts; a prompt of thousands is walked only if it matters.
  const std::span<const TokenId> walked = params.repetition_penalty == 1 ? answer : context.tokens.subspan(left_out);
  const auto in_row = [&row](TokenId token) { return to_size(token) < row.size(); };
  for (const TokenId token : answer) {
    if (in_row(token)) ++counts_[to_size(token)];
  }
  for (const TokenId token : walked) {
    if (!in_row(token)) continue;
    std::uint32_t& count = counts_[to_size(token)];
    if (count == kPenalized) continue;
    float& logit = row[to_size(token)];
    logit = repeated(finite_logit(logit), params.repetition_penalty);
    if (count > 0) {
      logit -= params.frequency_penalty * static_cast<float>(count);
      logit -= params.presence_penalty;
    }
    count = kPenalized;
  }
  for (const TokenId token : walked) {
    if (in_row(token)) counts_[to_size(token)] = 0;
  }
}

}  // namespace octavo
