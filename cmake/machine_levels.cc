// Prints the levels that this machine has as a list of CMake's, the strongest last; run by isa_levels.cmake.
#include <cstdio>

#include "base/isa_level.h"

int main() {
  const char* separator = "";
  for (int i = 0; i < octavo::kNumIsaLevels; ++i) {
    if (!octavo::processor_has(static_cast<octavo::IsaLevel>(i))) continue;
    std::printf("%s%s", separator, octavo::kIsaNames[static_cast<std::size_t>(i)].data());
    separator = ";";
  }
  return *separator == '\0' ? 1 : 0;
}
