#include "sampler/logit_adjust.h"

#include <algorithm>
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

}  // namespace

LogitAdjuster::LogitAdjuster(int vocab_size) {
  OCTAVO_CHECK(vocab_size >= 1, "vocabulary of {}", vocab_size);
  row_.resize(to_size(vocab_size));
  counts_.resize(to_size(vocab_size));
}

bool LogitAdjuster::changes(const SamplingParams& params, const DrawContext& context) {
  return has_penalty(params) || !params.logit_bias.empty() || !context.forbidden.empty();
}

std::span<const float> LogitAdjuster::adjust(std::span<const float> logits, const SamplingParams& params,
                                             const DrawContext& context) {
  OCTAVO_CHECK(logits.size() <= row_.size(), "a row of {} logits, room for {}", logits.size(), row_.size());
  const std::span<float> row = std::span(row_).first(logits.size());
  std::ranges::copy(logits, row.begin());
  if (has_penalty(params)) penalize(row, params, context);
  const auto in_row = [&row](TokenId token) { return to_size(token) < row.size(); };
  for (const auto& [token, bias] : params.logit_bias) {
    if (!in_row(token)) continue;
    float& logit = row[to_size(token)];
    logit = bias <= kForbiddingBias ? kLowest : finite_logit(logit) + bias;
  }
  for (const TokenId token : context.forbidden) {
    if (in_row(token)) row[to_size(token)] = kLowest;
  }
  return row;
}

void LogitAdjuster::penalize(std::span<float> row, const SamplingParams& params, const DrawContext& context) {
  const auto num_prompt = to_size(context.prompt_tokens);
  const std::span<const TokenId> answer = context.tokens.subspan(num_prompt);
  // Penalties of the answer's tokens need their counts; a prompt of thousands is walked only if it matters.
  const std::span<const TokenId> walked = params.repetition_penalty == 1 ? answer : context.tokens;
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
