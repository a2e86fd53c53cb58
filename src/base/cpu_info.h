// What the processor at hand can do: instruction-set levels and the CPUs this process may use.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace octavo {

/// Instruction-set levels that kernels are compiled for, weakest first within an architecture.
enum class IsaLevel : std::uint8_t { kScalar, kAvx2, kAvxVnni, kAvx512Vnni, kNeon };
inline constexpr int kNumIsaLevels = 5;

/// The name used on the command line: scalar, avx2, avxvnni, avx512vnni, neon.
std::string_view isa_name(IsaLevel level);

/// True if the processor and the system can run code of this level.
bool isa_supported(IsaLevel level);

/// Levels this processor can run, weakest first; never empty (scalar always runs).
std::vector<IsaLevel> supported_isa_levels();

/// "auto" gives the strongest level; a name gives that level. Errors: unknown name, level the processor lacks.
Result<IsaLevel> parse_isa(std::string_view name);

/// Where the system tells about itself; tests name folders of their own.
struct SystemFolders {
  std::string proc = "/proc";
  std::string cgroup = "/sys/fs/cgroup";  // version 2
};

/// CPUs this process may use: the smaller of its affinity mask and its cgroup's quota, at least 1.
int usable_cpus(const SystemFolders& folders = {});

/// The processor's brand string, for reports; "unknown" when it has none.
std::string cpu_model_name();

/// Bytes of memory that can still be taken: the system's available memory, within the limits of the process's cgroup
/// and of those around it. File pages that the kernel can drop count as free.
std::uint64_t available_memory_bytes(const SystemFolders& folders = {});

}  // namespace octavo
