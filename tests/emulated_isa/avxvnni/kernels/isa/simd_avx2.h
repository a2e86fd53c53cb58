// The names of src/kernels/isa/simd_avx2.h as the level avxvnni has them, with AVX2 in place of AVX-VNNI's two
// instructions. Its unit finds this file first when it is compiled for processors without them.
#pragma once

#include "tests/emulated_isa/dot_bytes.h"

#define _mm256_dpbusd_avx_epi32 dot_bytes
#define dot_pairs dot_pairs_by_vpdpwssd  // never called, so that no unit has the instruction
#include "src/kernels/isa/simd_avx2.h"
#undef dot_pairs
#undef _mm256_dpbusd_avx_epi32

namespace octavo {
namespace {

inline I32 dot_pairs(I32 acc, I16 a, I16 b) { return _mm256_add_epi32(acc, _mm256_madd_epi16(a, b)); }

}  // namespace
}  // namespace octavo
