#include "sampler/softmax.h"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "base/error.h"

// A vocabulary is a long row: the loader picks the clone for the widest vectors that the processor has. All clones do
// the same operations in the same order, none of them fused, so they give the same bits. Sanitizers get no clones:
// their runtime is not ready when the loader chooses.
#if defined(__x86_64__) && defined(__gnu_linux__) && !defined(__clang__) && !defined(__SANITIZE_ADDRESS__) && \
    !defined(__SANITIZE_THREAD__)
#define OCTAVO_VECTOR_CLONES __attribute__((target_clones("default", "avx2", "avx512f")))
#else
#define OCTAVO_VECTOR_CLONES
#endif

namespace octavo {
namespace {

// Loops over a row use pointers: a checked access would keep the compiler from making vector code.

constexpr std::size_t kLanes = 16;  // independent accumulators, so that the compiler can use vectors without reordering

// A difference below this one means the smallest float, which is a forbidden token, not a model's logit. A huge
// temperature would bring it back to where exp() is above 0.
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
  return poly * std::bit_cast<float>((exponent & ~(exponent >> 31)) << 23);  // no denormals: results below 2^-126 are 0
}

}  // namespace

OCTAVO_VECTOR_CLONES
float max_logit(std::span<const float> logits) {
  float lanes[kLanes];
  std::ranges::fill(lanes, -std::numeric_limits<float>::max());
  const float* from = logits.data();
  std::size_t i = 0;
  for (; i + kLanes <= logits.size(); i += kLanes) {
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      const float logit = finite_logit(from[i + lane]);
      lanes[lane] = logit > lanes[lane] ? logit : lanes[lane];
    }
  }
  for (; i < logits.size(); ++i) lanes[0] = std::max(lanes[0], finite_logit(logits[i]));
  return *std::ranges::max_element(lanes);
}

OCTAVO_VECTOR_CLONES
void softmax_weights(std::span<const float> logits, float max, float temperature, std::span<float> weights) {
  OCTAVO_CHECK(weights.size() >= logits.size(), "{} weights of {} logits", weights.size(), logits.size());
  const float* from = logits.data();
  float* to = weights.data();
  const std::size_t size = logits.size();
  // Two loops, because GCC 12 turns each into vector code but not the two in one.
  if (temperature == 1) {  // without divisions
    for (std::size_t i = 0; i < size; ++i) {
      const float difference = finite_logit(from[i]) - max;
      to[i] = difference > -104.0F ? difference : -104.0F;
    }
  } else {
    for (std::size_t i = 0; i < size; ++i) {
      const float difference = finite_logit(from[i]) - max;
      const float x = difference / temperature;
      to[i] = x > -104.0F && difference > kForbidden ? x : -104.0F;
    }
  }
  for (std::size_t i = 0; i < size; ++i) to[i] = exp_of_negative(to[i]);
}

OCTAVO_VECTOR_CLONES
double sum_chunks(std::span<const float> weights, std::span<double> chunks) {
  double total = 0;
  for (std::size_t begin = 0, chunk = 0; begin < weights.size(); begin += kSumChunk, ++chunk) {
    const std::span<const float> part = weights.subspan(begin, std::min(kSumChunk, weights.size() - begin));
    float lanes[kLanes] = {};
    const float* from = part.data();
    std::size_t i = 0;
    for (; i + kLanes <= part.size(); i += kLanes) {
      for (std::size_t lane = 0; lane < kLanes; ++lane) lanes[lane] += from[i + lane];
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
  float weights[kSumChunk];  // it stays in the L1 cache
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
  LogitSpread spread;
  float differences[kSumChunk], counted[kSumChunk];
  double wide[kSumChunk];
  for (std::size_t begin = 0; begin < logits.size(); begin += kSumChunk) {
    const std::size_t size = std::min(kSumChunk, logits.size() - begin);
    const float* from = logits.data() + begin;
    std::fill(differences + size, differences + kSumChunk, kForbidden);
    // Many loops, because GCC 12 turns each into vector code but not all in one.
    for (std::size_t i = 0; i < size; ++i) differences[i] = finite_logit(from[i]) - max;
    for (std::size_t i = 0; i < kSumChunk; ++i) counted[i] = differences[i] > kForbidden ? 1.0F : 0.0F;
    for (std::size_t i = 0; i < kSumChunk; ++i) differences[i] = differences[i] > kForbidden ? differences[i] : 0.0F;
    for (std::size_t i = 0; i < kSumChunk; ++i) wide[i] = static_cast<double>(differences[i]);
    float counts[kLanes] = {};
    double sums[kLanes] = {}, squares[kLanes] = {};
    for (std::size_t i = 0; i < kSumChunk; i += kLanes)
      for (std::size_t lane = 0; lane < kLanes; ++lane) counts[lane] += counted[i + lane];
    for (std::size_t i = 0; i < kSumChunk; i += kLanes)
      for (std::size_t lane = 0; lane < kLanes; ++lane) sums[lane] += wide[i + lane];
    for (double& here : wide) here *= here;
    for (std::size_t i = 0; i < kSumChunk; i += kLanes)
      for (std::size_t lane = 0; lane < kLanes; ++lane) squares[lane] += wide[i + lane];
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      spread.count += counts[lane];
      spread.sum += sums[lane];
      spread.squares += squares[lane];
    }
  }
  return spread;
}

OCTAVO_VECTOR_CLONES
double sum_weighted(std::span<const float> weights, std::span<const float> logits, float max) {
  OCTAVO_CHECK(logits.size() >= weights.size(), "{} weights of {} logits", weights.size(), logits.size());
  double total = 0;
  float products[kSumChunk];
  for (std::size_t begin = 0; begin < weights.size(); begin += kSumChunk) {
    const std::size_t size = std::min(kSumChunk, weights.size() - begin);
    const float* weight = weights.data() + begin;
    const float* from = logits.data() + begin;
    for (std::size_t i = 0; i < size; ++i) {
      const float distance = finite_logit(from[i]) - max;
      products[i] = weight[i] > 0 ? weight[i] * distance : 0.0F;
    }
    std::fill(products + size, products + kSumChunk, 0.0F);
    float lanes[kLanes] = {};
    for (std::size_t i = 0; i < kSumChunk; i += kLanes) {
      for (std::size_t lane = 0; lane < kLanes; ++lane) lanes[lane] += products[i + lane];
    }
    for (const float lane : lanes) total += lane;
  }
  return total;
}

}  // namespace octavo
