// The limits that the control groups of this process set: the tightest of its own group and of the groups around it.
// Groups are those of version 2, and of version 1 where its controllers are mounted under their usual names.
#pragma once

#include <cstdint>
#include <optional>

namespace octavo {

struct SystemFolders;  // base/cpu_info.h

/// The processor time as a number of CPUs, such as 1.5; none: no limit.
std::optional<double> cgroup_cpu_quota(const SystemFolders& folders);

/// The bytes of memory that may still be taken; none: no limit. File pages that the kernel can drop count as free.
std::optional<std::uint64_t> cgroup_free_memory(const SystemFolders& folders);

/// The bytes of memory that the process's cgroups allow in all; none: no limit.
std::optional<std::uint64_t> cgroup_memory_limit(const SystemFolders& folders);

}  // namespace octavo
