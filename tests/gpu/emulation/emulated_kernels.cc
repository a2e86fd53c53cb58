#include "gpu/emulation/emulated_kernels.h"

#include <fmt/format.h>

#include <cstring>

#include "gpu/kernels/all_kernels.h"
#include "gpu/kernels/kernel_list.h"

namespace octavo::simt {
namespace {

template <class Argument>
void run(void (*kernel)(Argument), const EmulatedLaunch& launch, const void* argument) {
  Argument copy;
  std::memcpy(&copy, argument, sizeof copy);
  run_emulated(launch, [&] { kernel(copy); });
}

}  // namespace

void run_emulated_kernel(std::string_view name, const EmulatedLaunch& launch, const void* argument) {
#define OCTAVO_RUN_IF_NAMED(kernel, Argument) \
  if (name == #kernel) return run<Argument>(&kernel, launch, argument);
  OCTAVO_GPU_KERNELS(OCTAVO_RUN_IF_NAMED)
#undef OCTAVO_RUN_IF_NAMED
  throw MisuseError(fmt::format("no kernel has the name {}", name));
}

}  // namespace octavo::simt
