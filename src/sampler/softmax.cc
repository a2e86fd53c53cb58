#include "sampler/softmax.h"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>

// A vocabulary is a long row: the loader takes the clone for the widest vectors that the processor has. Each does the
// same operations in the same order, none of them fused, so all give the same bits. Not under sanitizers, whose runtime
// is not ready when the loader chooses.
#if defined(__x86_64__) && defined(__gnu_linux__) && !defined(__clang__) && !defined(__SANITIZE_ADDRESS__) && \
    !defined(__SANITIZE_THREAD__)
#define OCTAVO_VECTOR_CLONES __attribute__((target_clones("default", "avx2", "avx512f")))
#else
#define OCTAVO_VECTOR_CLONES
#endif

namespace octavo {
namespace {

constexpr std::size_t kLanes = 16;  // independent accumulators, so that the compiler can use vectors without reordering

// A difference that only the smallest float, a forbidden token, has from a logit of a model. A huge temperature would
// bring it back to where exp() is above 0.
constexpr float kForbidden = -1e38F;

// exp(x) for -104 <= x <= 0 by Cody and Waite's reduction x = n ln 2 + r and a Taylor polynomial of degree 6 (|r| <=
// 0.35). Not std::exp: a loop over this one becomes vector code, and the C library's choice of code does not enter.
inline float exp_of_negative(float x) {
  constexpr float kRound = 12582912.0F;  // 1.5 * 2^23: adding it rounds to an integer
  const float shifted = x * 1.44269504F + kRound;
  const float n = shifted - kRound;
  const float r = (x - n * 0.693359375F) + n * 2.12194440e-4F;
  float poly = 1.0F / 720;
  poly = poly * r + 1.0F / 120;
  poly = poly * r + 1.0F / 24;
  poly = poly * r + 1.0F / 6;
  poly = poly * r + 0.5F;
  poly = poly * r + 1.0F;
  poly = poly * r + 1.0F;
  const std::int32_t exponent = std::bit_cast<std::int32_t>(shifted) - std::bit_cast<std::int32_t>(kRound) + 127;
  return poly * std::bit_cast<float>((exponent & ~(exponent >> 31)) << 23);  // no denormals: below 2^-126 is 0
}

}  // namespace

OCTAVO_VECTOR_CLONES
float max_logit(std::span<const float> logits) {
  float lanes[kLanes];
  std::ranges::fill(lanes, -std::numeric_limits<float>::max());
  std::size_t i = 0;
  for (; i + kLanes <= logits.size(); i += kLanes) {
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      const float logit = finite_logit(logits[i + lane]);
      lanes[lane] = logit > lanes[lane] ? logit : lanes[lane];
    }
  }
  for (; i < logits.size(); ++i) lanes[0] = std::max(lanes[0], finite_logit(logits[i]));
  return *std::ranges::max_element(lanes);
}

OCTAVO_VECTOR_CLONES
void softmax_weights(std::span<const float> logits, float max, float temperature, std::span<float> weights) {
  // Two loops, because GCC 12 turns each into vector code but not the two in one.
  if (temperature == 1) {  // saves the divisions
    for (std::size_t i = 0; i < logits.size(); ++i) {
      const float difference = finite_logit(logits[i]) - max;
      weights[i] = difference > -104.0F ? difference : -104.0F;
    }
  } else {
    for (std::size_t i = 0; i < logits.size(); ++i) {
      const float difference = finite_logit(logits[i]) - max;
      const float x = difference / temperature;
      weights[i] = x > -104.0F && difference > kForbidden ? x : -104.0F;
    }
  }
  for (float& weight : weights.first(logits.size())) weight = exp_of_negative(weight);
}

OCTAVO_VECTOR_CLONES
double sum_chunks(std::span<const float> weights, std::span<double> chunks) {
  double total = 0;
  for (std::size_t begin = 0, chunk = 0; begin < weights.size(); begin += kSumChunk, ++chunk) {
    const std::span<const float> part = weights.subspan(begin, std::min(kSumChunk, weights.size() - begin));
    float lanes[kLanes] = {};
    std::size_t i = 0;
    for (; i + kLanes <= part.size(); i += kLanes) {
      for (std::size_t lane = 0; lane < kLanes; ++lane) lanes[lane] += part[i + lane];
    }
    double sum = 0;
    for (; i < part.size(); ++i) sum += part[i];
    for (const float lane : lanes) sum += lane;
    if (chunk < chunks.size()) chunks[chunk] = sum;
    total += sum;
  }
  return total;
}

double softmax_total(std::span<const float> logits, float max) {
  float weights[kSumChunk];  // stays in the first cache
  double total = 0;
  for (std::size_t begin = 0; begin < logits.size(); begin += kSumChunk) {
    const std::span<const float> part = logits.subspan(begin, std::min(kSumChunk, logits.size() - begin));
    softmax_weights(part, max, 1.0F, weights);
    total += sum_chunks(std::span(weights).first(part.size()), {});
  }
  return total;
}

OCTAVO_VECTOR_CLONES
LogitSpread logit_spread(std::span<const float> logits, float max) {
  constexpr float kLowest = -std::numeric_limits<float>::max();
  double sums[kLanes] = {}, squares[kLanes] = {}, counts[kLanes] = {};
  const auto add = [&](float logit, std::size_t lane) {
    const float here = finite_logit(logit);
    const double distance = here > kLowest ? static_cast<double>(here) - static_cast<double>(max) : 0.0;
    counts[lane] += here > kLowest ? 1.0 : 0.0;
    sums[lane] += distance;
    squares[lane] += distance * distance;
  };
  std::size_t i = 0;
  for (; i + kLanes <= logits.size(); i += kLanes) {
    for (std::size_t lane = 0; lane < kLanes; ++lane) add(logits[i + lane], lane);
  }
  for (; i < logits.size(); ++i) add(logits[i], 0);
  LogitSpread spread;
  for (std::size_t lane = 0; lane < kLanes; ++lane) {
    spread.count += counts[lane];
    spread.sum += sums[lane];
    spread.squares += squares[lane];
  }
  return spread;
}

OCTAVO_VECTOR_CLONES
double sum_weighted(std::span<const float> weights, std::span<const float> logits, float max) {
  double sums[kLanes] = {};
  const auto add = [&](std::size_t i, std::size_t lane) {
    const double distance = static_cast<double>(finite_logit(logits[i])) - static_cast<double>(max);
    sums[lane] += weights[i] > 0 ? static_cast<double>(weights[i]) * distance : 0.0;
  };
  std::size_t i = 0;
  for (; i + kLanes <= weights.size(); i += kLanes) {
    for (std::size_t lane = 0; lane < kLanes; ++lane) add(i + lane, lane);
  }
  for (; i < weights.size(); ++i) add(i, 0);
  double sum = 0;
  for (const double lane : sums) sum += lane;
  return sum;
}

}  // namespace octavo
