// Kernels of each level for tests, on processors with and without its instructions.
//
// Levels that the building machine lacks, avxvnni, avx512vnni, amx and amxbf16, are compiled a second time, from their
// own units with other SIMD names, for processors that have AVX2: with the shapes of the level and in its order of
// operations, so that results have its bits. What is not tested this way is that the level's own names mean what these
// do. Where the machine has avx512vnni, the tiles of amx alone are emulated.
#pragma once

#include "kernels/dispatch.h"

extern "C" {
const octavo::KernelTable* octavo_kernels_avxvnni_emulated(bool portable);
const octavo::KernelTable* octavo_kernels_avx512vnni_emulated();
const octavo::KernelTable* octavo_kernels_amx_emulated();
const octavo::KernelTable* octavo_kernels_amxbf16_emulated();
}

namespace octavo {

/// The level whose instructions the emulation of amx has for vectors.
#ifdef OCTAVO_EMULATES_VECTORS_OF_AMX
inline constexpr IsaLevel kVectorsOfAmx = IsaLevel::kAvx2;
#else
inline constexpr IsaLevel kVectorsOfAmx = IsaLevel::kAvx512Vnni;
#endif

/// The kernels of a level: its emulation where there is one (tests/emulated_isa/CMakeLists.txt), else its own; null:
/// they cannot run here.
inline const KernelTable* kernels_of_level(IsaLevel level, Bits bits = Bits::kNative) {
#ifdef OCTAVO_EMULATES_AVXVNNI
  if (level == IsaLevel::kAvxVnni && isa_supported(IsaLevel::kAvx2))
    return octavo_kernels_avxvnni_emulated(bits == Bits::kPortable);
#endif
#ifdef OCTAVO_EMULATES_AVX512VNNI
  if (level == IsaLevel::kAvx512Vnni && isa_supported(IsaLevel::kAvx2))
    return octavo_kernels_avx512vnni_emulated();  // its bits are the portable ones
#endif
#ifdef OCTAVO_EMULATES_AMX
  if (level == IsaLevel::kAmx && isa_supported(kVectorsOfAmx)) return octavo_kernels_amx_emulated();
#endif
#ifdef OCTAVO_EMULATES_AMXBF16
  if (level == IsaLevel::kAmxBf16 && isa_supported(kVectorsOfAmx))
    return bits == Bits::kPortable ? kernels_of_level(IsaLevel::kAmx, bits) : octavo_kernels_amxbf16_emulated();
#endif
  return isa_supported(level) ? &kernel_table(level, bits) : nullptr;
}

}  // namespace octavo
