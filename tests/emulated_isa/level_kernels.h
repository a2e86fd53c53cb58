// Kernels of each level for tests, on processors with and without its instructions.
//
// The levels avxvnni and avx512vnni are compiled a second time, from their own units with other SIMD names, for
// processors that have AVX2: with the shapes of the level and in its order of operations, so that results have its
// bits. What is not tested this way is that the level's own names mean what these do.
#pragma once

#include "kernels/dispatch.h"

#ifdef OCTAVO_EMULATES_LEVELS
extern "C" {
const octavo::KernelTable* octavo_kernels_avxvnni_emulated(bool portable);
const octavo::KernelTable* octavo_kernels_avx512vnni_emulated();
}
#endif

namespace octavo {

/// The kernels of a level, emulated where the processor lacks it; null: they cannot run here.
inline const KernelTable* kernels_of_level(IsaLevel level, Bits bits = Bits::kNative) {
  if (isa_supported(level)) return &kernel_table(level, bits);
#ifdef OCTAVO_EMULATES_LEVELS
  if (!isa_supported(IsaLevel::kAvx2)) return nullptr;
  if (level == IsaLevel::kAvxVnni) return octavo_kernels_avxvnni_emulated(bits == Bits::kPortable);
  if (level == IsaLevel::kAvx512Vnni) return octavo_kernels_avx512vnni_emulated();  // its bits are the portable ones
#endif
  return nullptr;
}

}  // namespace octavo
