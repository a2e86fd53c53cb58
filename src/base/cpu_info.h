// The processor and the system: instruction-set levels, CPUs and memory that this process may use.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/isa_level.h"

namespace octavo {

/// The name used on the command line: scalar, avx2, avxvnni, avx512vnni, amx, amxbf16, neon.
std::string_view isa_name(IsaLevel level);

/// The levels of this build and of this processor, weakest first; tests make lists of their own.
struct IsaLevels {
  std::vector<IsaLevel> built;               // levels with kernels, by OCTAVO_ISA_LEVELS when the build was configured
  std::vector<IsaLevel> processor;           // levels that the processor and the system can run
  TileSupport tiles = TileSupport::kUsable;  // what amx lacks, where the processor's levels are without it
  TileSupport bf16_tiles = TileSupport::kUsable;  // what amxbf16 lacks

  /// The levels in both lists; empty where the build is for another processor.
  std::vector<IsaLevel> usable() const;
};
IsaLevels isa_levels();

/// True if this build has the level and the processor and the system can run it.
bool isa_supported(IsaLevel level);

/// The levels of isa_levels().usable(). A build with all levels has at least scalar, which always runs.
std::vector<IsaLevel> supported_isa_levels();

/// "auto" gives the strongest usable level; a name gives that level. Errors: an unknown name, a level that the
/// processor lacks, one that was not built, and "auto" where no level is usable.
Result<IsaLevel> parse_isa(std::string_view name, const IsaLevels& levels = isa_levels());

/// The folders in which the system describes itself; tests have folders of their own.
struct SystemFolders {
  std::string proc = "/proc";
  std::string cgroup = "/sys/fs/cgroup";  // holds the controllers' folders in version 1
  std::string cpu = "/sys/devices/system/cpu";
};

/// The number of usable CPUs: those of the affinity mask, but at most the cgroups' quota rounded down; at least 1.
int usable_cpus(const SystemFolders& folders = {});

/// The number of physical cores of `cpus`; a CPU that the system does not describe counts as a core.
int count_cores(std::span<const int> cpus, const SystemFolders& folders = {});

/// The default number of threads: one for each physical core of the affinity mask, at most the quota rounded down; at
/// least 1. A core's second thread shares its arithmetic units and caches.
int default_threads(const SystemFolders& folders = {});

/// The processor's brand string, for reports; "unknown" when it has none.
std::string cpu_model_name();

/// The bytes of memory that can still be taken: the system's available memory, within the limits of the process's
/// cgroup and of the groups around it. File pages that the kernel can drop count as free.
std::uint64_t available_memory_bytes(const SystemFolders& folders = {});

/// The bytes of memory in all: the machine's, within the limits of the process's cgroup and of the groups around it.
/// The number does not change while programs run.
std::uint64_t total_memory_bytes(const SystemFolders& folders = {});

}  // namespace octavo
