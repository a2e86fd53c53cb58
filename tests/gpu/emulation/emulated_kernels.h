// Kernels of a card by their names, as a driver knows them, for the emulation of one.
#pragma once

#include <string_view>

#include "gpu/emulation/emulated_launch.h"

namespace octavo::simt {

/// Runs the kernel of that name on the argument at `argument`. Throws a MisuseError where there is none.
void run_emulated_kernel(std::string_view name, const EmulatedLaunch& launch, const void* argument);

}  // namespace octavo::simt
