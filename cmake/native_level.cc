// Prints the strongest level that this machine has; run by isa_levels.cmake.
#include <cstdio>

#include "base/isa_level.h"

int main() {
  for (int i = octavo::kNumIsaLevels; i-- > 0;) {
    if (!octavo::processor_has(static_cast<octavo::IsaLevel>(i))) continue;
    std::fputs(octavo::kIsaNames[static_cast<std::size_t>(i)].data(), stdout);
    return 0;
  }
  return 1;
}
