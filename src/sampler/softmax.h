// Softmax over one row of logits, in one fixed order of operations: the same bits on every machine and thread.
//
// Stateless; any thread may call it. Inputs may hold NaN and infinities, see finite_logit().
#pragma once

#include <limits>
#include <span>

namespace octavo {

/// The value that a logit counts as: itself, the largest float for +inf, the smallest for -inf and NaN. So a row is
/// always a distribution: NaN and -inf are never drawn beside a finite logit, and a row of nothing else is uniform.
inline float finite_logit(float logit) {
  constexpr float kMax = std::numeric_limits<float>::max();
  const float bounded = logit > -kMax ? logit : -kMax;  // NaN fails the comparison
  return bounded < kMax ? bounded : kMax;
}

/// The largest finite_logit; `logits` is not empty.
float max_logit(std::span<const float> logits);

/// weights[i] = exp((finite_logit(logits[i]) - max) / temperature), for max >= every logit and temperature > 0;
/// relative error below 3e-7, and 0 from e^-88 down. The smallest float below a larger max weighs 0 at any temperature.
void softmax_weights(std::span<const float> logits, float max, float temperature, std::span<float> weights);

/// The number of elements that sum_chunks() adds up at a time.
inline constexpr std::size_t kSumChunk = 256;
/// The sum of `weights`; where `chunks` has room, chunks[c] gets the sum of elements from c * kSumChunk on.
double sum_chunks(std::span<const float> weights, std::span<double> chunks);

/// The sum of softmax_weights() at temperature 1, in the order of sum_chunks(), without keeping the weights.
double softmax_total(std::span<const float> logits, float max);

/// The spread of logits, as differences to `max`; those of forbidden tokens (the smallest float) are left out.
struct LogitSpread {
  double count = 0, sum = 0, squares = 0;
};
LogitSpread logit_spread(std::span<const float> logits, float max);

/// The sum of weights[i] * (finite_logit(logits[i]) - max), where the weight is above 0.
double sum_weighted(std::span<const float> weights, std::span<const float> logits, float max);

}  // namespace octavo
