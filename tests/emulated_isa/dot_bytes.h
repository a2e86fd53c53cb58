// The byte products of a VNNI instruction with AVX2.
#pragma once

#include <immintrin.h>

namespace octavo {
namespace {

/// vpdpbusd: each lane of acc plus four products of an unsigned byte of w and a signed one of a. They are added as
/// words: two of them are more than 16 bits hold.
inline __m256i dot_bytes(__m256i acc, __m256i w, __m256i a) {
  const __m256i even =
      _mm256_madd_epi16(_mm256_and_si256(w, _mm256_set1_epi16(0xFF)), _mm256_srai_epi16(_mm256_slli_epi16(a, 8), 8));
  const __m256i odd = _mm256_madd_epi16(_mm256_srli_epi16(w, 8), _mm256_srai_epi16(a, 8));
  return _mm256_add_epi32(acc, _mm256_add_epi32(even, odd));
}

}  // namespace
}  // namespace octavo
