// The kernel table of an instruction-set level.
#pragma once

#include "base/cpu_info.h"
#include "kernels/kernels.h"
#include "octavo/bits.h"

namespace octavo {

/// The kernel table for `level`, which the processor must support: with the level's own bits, or with the bits that all
/// levels have. The table lives as long as the program.
const KernelTable& kernel_table(IsaLevel level, Bits bits = Bits::kNative);

}  // namespace octavo
