#include "sampler/sampler.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/to_size.h"
#include "sampler/softmax.h"
#include "sampler/top_tokens.h"

namespace octavo {
namespace {

constexpr std::uint32_t kTokenDraw = 0, kXtcDraw = 1;  // values of DrawKey::draw

double uniform_of(DrawKey key, std::uint32_t draw) {
  key.draw = draw;
  return uniform(key);
}

// The log of the sum of exp over a whole row, padding included, given the log without the padding.
double log_total_with(std::span<const float> padding, double log_total, Math math) {
  if (padding.empty()) return log_total;
  const float max = max_logit(padding);
  const double log_padding = max + math.log(softmax_total(padding, max));
  const double larger = std::max(log_total, log_padding);
  return larger + math.log(math.exp(log_total - larger) + math.exp(log_padding - larger));
}

void apply_step(SamplerStep step, const SamplingParams& params, const DrawKey& key, Candidates& candidates) {
  switch (step) {
    case SamplerStep::kTopNSigma: return candidates.keep_within_sigma(params.top_n_sigma);
    case SamplerStep::kTopK: return candidates.keep_top_k(params.top_k);
    case SamplerStep::kTypical: return candidates.keep_typical(params.typical_p);
    case SamplerStep::kTopP: return candidates.keep_top_p(params.top_p);
    case SamplerStep::kMinP: return candidates.keep_min_p(params.min_p);
    case SamplerStep::kXtc:
      if (params.xtc.probability > 0 && uniform_of(key, kXtcDraw) < params.xtc.probability)
        candidates.exclude_top(params.xtc.threshold);
      return;
    case SamplerStep::kTemperature: return candidates.apply_temperature(params.temperature, params.dynamic_temperature);
  }
}

bool is_greedy(const SamplingParams& params) {
  return params.temperature == 0 || (params.top_k == 1 && params.order.empty() && params.mirostat.version == 0);
}

TokenId pick(Candidates& candidates, const SamplingParams& params, const DrawKey& key, float& surprise_bound) {
  if (is_greedy(params)) return candidates.most_likely();
  const double u = uniform_of(key, kTokenDraw);
  if (params.mirostat.version != 0) {
    candidates.apply_temperature(params.temperature, params.dynamic_temperature);
    if (params.mirostat.version == 1) {
      candidates.keep_zipfian(surprise_bound);
    } else {
      candidates.keep_surprise(surprise_bound);
    }
    const TokenId token = candidates.draw(u);
    const double error = candidates.surprise(token) - params.mirostat.tau;
    surprise_bound = static_cast<float>(surprise_bound - params.mirostat.eta * error);
    return token;
  }
  const std::span<const SamplerStep> order = params.order.empty() ? std::span<const SamplerStep>(kDefaultSamplerOrder)
                                                                  : std::span<const SamplerStep>(params.order);
  for (const SamplerStep step : order) apply_step(step, params, key, candidates);
  return candidates.draw(u);
}

/// Whether the row must be changed before it can be drawn from. A greedy draw need not look at what only forbids
/// tokens, if its token is not one of them.
bool must_adjust(const Candidates& untouched, const SamplingParams& params, const DrawContext& context) {
  if (!LogitAdjuster::changes(params, context)) return false;
  if (!is_greedy(params) || LogitAdjuster::changes(params, {})) return true;
  const TokenId token = untouched.most_likely();
  return !is_allowed(context.allowed, token) ||
         std::ranges::find(context.forbidden, token) != context.forbidden.end() ||
         std::ranges::find(context.suppressed, token) != context.suppressed.end();
}

/// The log-probability of a token among those that the context allows.
float logprob_of_allowed(std::span<const float> row, TokenId token, const DrawContext& context, SamplerScratch& scratch,
                         std::span<TokenLogprob> top) {
  const std::span<const float> masked = scratch.adjuster.adjust(row, {}, {.allowed = context.allowed});
  const float max = max_logit(masked);
  const double log_total = max + scratch.math.log(softmax_total(masked, max));
  find_top_tokens(masked, log_total, top);
  for (TokenLogprob& one : top)
    if (!is_allowed(context.allowed, one.token)) one.token = -1;
  return static_cast<float>(masked[to_size(token)] - log_total);
}

}  // namespace

SampledToken sample(std::span<const float> logits, int num_tokens, const SamplingParams& params, const DrawKey& key,
                    SamplerScratch& scratch, const DrawContext& context, std::span<TokenLogprob> top) {
  OCTAVO_CHECK(num_tokens >= 1 && to_size(num_tokens) <= logits.size(), "{} of {} tokens", num_tokens, logits.size());
  const std::span<const float> row = logits.first(to_size(num_tokens));
  float bound = context.surprise_bound;
  Candidates untouched(row, scratch.candidates);
  TokenId token = 0;
  if (context.forced >= 0) {
    token = context.forced;
  } else if (!must_adjust(untouched, params, context)) {
    token = pick(untouched, params, key, bound);
  } else {
    Candidates adjusted(scratch.adjuster.adjust(row, params, context), scratch.candidates);
    token = pick(adjusted, params, key, bound);
  }
  SampledToken sampled{.token = token, .logprob = std::numeric_limits<float>::quiet_NaN(), .surprise_bound = bound};
  if (!context.wants_logprob) return sampled;
  if (context.logprobs_of_allowed && !context.allowed.empty() && is_allowed(context.allowed, token)) {
    sampled.logprob = logprob_of_allowed(row, token, context, scratch, top);
    return sampled;
  }
  // The row's total is known by now, if the row was weighed unchanged.
  const double log_total = log_total_with(logits.subspan(row.size()), untouched.log_total(), scratch.math);
  find_top_tokens(row, log_total, top);
  sampled.logprob = static_cast<float>(finite_logit(row[to_size(token)]) - log_total);
  return sampled;
}

}  // namespace octavo
