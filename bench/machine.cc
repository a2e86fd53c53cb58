#include "bench/machine.h"

#include <array>
#include <atomic>
#include <chrono>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace octavo::bench {
namespace {

using ReadFn = std::uint64_t (*)(const std::uint8_t* data, std::size_t bytes);
using MultiplyFn = float (*)(std::int64_t rounds);
constexpr int kChains = 12;  // sums in registers, enough to hide the latency of two units

std::uint64_t read_plain(const std::uint8_t* data, std::size_t bytes) {
  std::uint64_t sum[8] = {};
  for (std::size_t i = 0; i + 64 <= bytes; i += 64)
    for (std::size_t j = 0; j < 8; ++j) sum[j] ^= reinterpret_cast<const std::uint64_t*>(data + i)[j];
  return sum[0] ^ sum[1] ^ sum[2] ^ sum[3] ^ sum[4] ^ sum[5] ^ sum[6] ^ sum[7];
}

// Twelve chains of a * b + c in vectors of the width that the compiler is told.
template <class V>
float multiply_plain(std::int64_t rounds, V one, V factor) {
  std::array<V, kChains> sum;
  sum.fill(one);
  for (std::int64_t r = 0; r < rounds; ++r)
#pragma GCC unroll 16
    for (V& s : sum) s = s * factor + one;
  float total = 0;
  for (const V& s : sum) total += s[0];
  return total;
}

typedef float F4 __attribute__((vector_size(16)));
float multiply_scalar(std::int64_t rounds) { return multiply_plain<F4>(rounds, F4{} + 1.0F, F4{} + 0.5F); }

#if defined(__x86_64__)
__attribute__((target("avx2"))) std::uint64_t read_avx2(const std::uint8_t* data, std::size_t bytes) {
  __m256i a = _mm256_setzero_si256(), b = a;
  for (std::size_t i = 0; i + 64 <= bytes; i += 64) {
    a = _mm256_xor_si256(a, _mm256_loadu_si256(reinterpret_cast<const __m256i*>(data + i)));
    b = _mm256_xor_si256(b, _mm256_loadu_si256(reinterpret_cast<const __m256i*>(data + i + 32)));
  }
  a = _mm256_xor_si256(a, b);
  return static_cast<std::uint64_t>(_mm256_extract_epi64(a, 0) ^ _mm256_extract_epi64(a, 3));
}

__attribute__((target("avx512f"))) std::uint64_t read_avx512(const std::uint8_t* data, std::size_t bytes) {
  __m512i a = _mm512_setzero_si512(), b = a;
  std::size_t i = 0;
  for (; i + 128 <= bytes; i += 128) {
    a = _mm512_xor_si512(a, _mm512_loadu_si512(data + i));
    b = _mm512_xor_si512(b, _mm512_loadu_si512(data + i + 64));
  }
  for (; i + 64 <= bytes; i += 64) a = _mm512_xor_si512(a, _mm512_loadu_si512(data + i));
  std::uint64_t lanes[8];
  _mm512_storeu_si512(lanes, _mm512_xor_si512(a, b));
  return lanes[0] ^ lanes[7];
}

__attribute__((target("avx2,fma"))) float multiply_avx2(std::int64_t rounds) {
  const __m256 one = _mm256_set1_ps(1.0F), factor = _mm256_set1_ps(0.5F);
  __m256 s[kChains];
  for (__m256& x : s) x = one;
  for (std::int64_t r = 0; r < rounds; ++r)
#pragma GCC unroll 16
    for (int i = 0; i < kChains; ++i) s[i] = _mm256_fmadd_ps(s[i], factor, one);
  float total = 0;
  for (const __m256& x : s) total += _mm256_cvtss_f32(x);
  return total;
}

__attribute__((target("avx512f"))) float multiply_avx512(std::int64_t rounds) {
  const __m512 one = _mm512_set1_ps(1.0F), factor = _mm512_set1_ps(0.5F);
  __m512 s[kChains];
  for (__m512& x : s) x = one;
  for (std::int64_t r = 0; r < rounds; ++r)
#pragma GCC unroll 16
    for (int i = 0; i < kChains; ++i) s[i] = _mm512_fmadd_ps(s[i], factor, one);
  float total = 0;
  for (const __m512& x : s) total += _mm512_cvtss_f32(x);
  return total;
}
#endif

struct Level {
  ReadFn read;
  MultiplyFn multiply;
  int lanes;
};

Level functions_of(IsaLevel level) {
#if defined(__x86_64__)
  if (level == IsaLevel::kAvx512Vnni) return {read_avx512, multiply_avx512, 16};
  if (level == IsaLevel::kAvx2 || level == IsaLevel::kAvxVnni) return {read_avx2, multiply_avx2, 8};
#endif
  (void)level;
  return {read_plain, multiply_scalar, 4};
}

}  // namespace

void Machine::read_blocks(const std::uint8_t* data, std::size_t block_bytes, std::span<const std::int32_t> ids) {
  const ReadFn read = functions_of(level_).read;
  std::atomic<std::uint64_t> total{0};
  const ThreadPool::Step step(pool_);
  pool_.for_ranges(ids.size(), 16, [&](std::size_t begin, std::size_t end, int) {
    std::uint64_t sum = 0;
    for (std::size_t i = begin; i < end; ++i)
      sum ^= read(data + static_cast<std::size_t>(ids[i]) * block_bytes, block_bytes);
    total.fetch_xor(sum, std::memory_order_relaxed);
  });
  sink_ ^= total.load();
}

double Machine::multiply_adds_per_second() {
  constexpr std::int64_t kRounds = 100000;
  const Level level = functions_of(level_);
  const auto threads = static_cast<std::size_t>(pool_.num_threads());
  std::atomic<int> finite{0};
  const ThreadPool::Step step(pool_);
  const auto start = std::chrono::steady_clock::now();
  pool_.for_ranges(threads, 1, [&](std::size_t begin, std::size_t end, int) {
    for (std::size_t i = begin; i < end; ++i) finite += level.multiply(kRounds) < 1e9F ? 1 : 0;
  });
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  sink_ += static_cast<std::uint64_t>(finite.load());
  return static_cast<double>(kRounds) * kChains * level.lanes * static_cast<double>(threads) / seconds;
}

}  // namespace octavo::bench
