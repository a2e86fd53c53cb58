// The kernel table of an instruction-set level.
#pragma once

#include "base/cpu_info.h"
#include "kernels/kernels.h"

namespace octavo {

/// The table compiled for `level`, which the processor must support. The table lives as long as the program.
const KernelTable& kernel_table(IsaLevel level);

}  // namespace octavo
