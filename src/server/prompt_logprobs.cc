#include "server/prompt_logprobs.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <utility>

namespace octavo::server {
namespace {

// Sums are kept in this many lanes, always the same ones, so that a compiler may use vectors without changing a result.
constexpr std::size_t kLanes = 16;
constexpr std::size_t kChunk = 1024;  // elements that are summed in float before they join a double

float finite(float logit) {
  constexpr float kMax = std::numeric_limits<float>::max();
  const float bounded = logit > -kMax ? logit : -kMax;  // NaN fails the comparison
  return bounded < kMax ? bounded : kMax;
}

// e^x for x <= 0 with a relative error below 2e-7: 2^n times a polynomial for 2^f, |f| <= 1/2 (the Taylor series of
// e^(f ln 2) to the sixth power). 0 below -87. One call a logit of the vocabulary, hence not std::exp.
float fast_exp(float x) {
  constexpr float kLog2e = 1.44269504F, kLn2 = 0.693147181F;
  constexpr float kRound = 12582912.0F;  // 1.5 * 2^23: adding it leaves the nearest integer in the low bits
  const float clamped = x > -87.0F ? x : -87.0F;
  const float scaled = clamped * kLog2e;
  const float shifted = scaled + kRound;
  const float f = (scaled - (shifted - kRound)) * kLn2;
  float p = 1.0F / 720;
  p = p * f + 1.0F / 120;
  p = p * f + 1.0F / 24;
  p = p * f + 1.0F / 6;
  p = p * f + 0.5F;
  p = p * f + 1.0F;
  p = p * f + 1.0F;
  const std::int32_t n = std::bit_cast<std::int32_t>(shifted) - std::bit_cast<std::int32_t>(kRound);
  const float power = std::bit_cast<float>((n + 127) << 23);
  return x > -87.0F ? p * power : 0.0F;
}

float max_of(std::span<const float> logits) {
  std::array<float, kLanes> lanes;
  lanes.fill(-std::numeric_limits<float>::max());
  std::size_t i = 0;
  for (; i + kLanes <= logits.size(); i += kLanes) {
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      const float value = finite(logits[i + lane]);
      lanes[lane] = value > lanes[lane] ? value : lanes[lane];
    }
  }
  float max = *std::ranges::max_element(lanes);
  for (; i < logits.size(); ++i) max = std::max(max, finite(logits[i]));
  return max;
}

float sum_of_exp(std::span<const float> logits, float max) {
  std::array<float, kLanes> lanes{};
  std::size_t i = 0;
  for (; i + kLanes <= logits.size(); i += kLanes) {
    for (std::size_t lane = 0; lane < kLanes; ++lane) lanes[lane] += fast_exp(finite(logits[i + lane]) - max);
  }
  for (; i < logits.size(); ++i) lanes[i % kLanes] += fast_exp(finite(logits[i]) - max);
  float sum = 0;
  for (const float lane : lanes) sum += lane;
  return sum;
}

/// The likeliest of `row`, by insertion: few are wanted, and few of the row ever qualify.
void find_top(std::span<const float> row, std::span<TokenLogprob> top) {
  std::size_t count = 0;
  for (std::size_t i = 0; i < row.size(); ++i) {
    const float logit = finite(row[i]);
    if (count == top.size() && logit <= top.back().logprob) continue;
    std::size_t place = count < top.size() ? count++ : count - 1;
    for (; place > 0 && top[place - 1].logprob < logit; --place) top[place] = top[place - 1];
    top[place] = {.token = static_cast<TokenId>(i), .logprob = logit};
  }
}

}  // namespace

double log_sum_exp(std::span<const float> logits) {
  const float max = max_of(logits);
  double sum = 0;
  for (std::size_t begin = 0; begin < logits.size(); begin += kChunk) {
    sum += static_cast<double>(sum_of_exp(logits.subspan(begin, std::min(kChunk, logits.size() - begin)), max));
  }
  return static_cast<double>(max) + std::log(sum);
}

PromptLogprobs::PromptLogprobs(std::vector<TokenId> tokens, int num_tokens, int num_top)
    : tokens_(std::move(tokens)),
      num_tokens_(static_cast<std::size_t>(num_tokens)),
      num_top_(std::min(static_cast<std::size_t>(num_top), num_tokens_)),
      logprobs_(tokens_.size()),
      top_(tokens_.size() * num_top_) {}

void PromptLogprobs::add_rows(int first_position, int vocab_size, std::span<const float> logits) {
  const auto width = static_cast<std::size_t>(vocab_size);
  // The row of a position is about the token behind it.
  for (std::size_t row = 0; (row + 1) * width <= logits.size(); ++row) {
    const std::size_t position = static_cast<std::size_t>(first_position) + row + 1;
    if (position >= tokens_.size()) return;
    add_row(position, logits.subspan(row * width, num_tokens_));
  }
}

void PromptLogprobs::add_row(std::size_t position, std::span<const float> row) {
  const double norm = log_sum_exp(row);
  const auto logprob_of = [norm](float logit) { return static_cast<float>(static_cast<double>(logit) - norm); };
  logprobs_[position] = logprob_of(finite(row[static_cast<std::size_t>(tokens_[position])]));
  const std::span<TokenLogprob> top = std::span(top_).subspan(position * num_top_, num_top_);
  if (top.empty()) return;
  find_top(row, top);
  for (TokenLogprob& entry : top) entry.logprob = logprob_of(entry.logprob);
}

}  // namespace octavo::server
