#include "base/cpu_info.h"

#include <sched.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <fstream>
#include <limits>
#include <optional>
#include <sstream>

namespace octavo {
namespace {

/// The levels whose kernels are in this build; src/kernels/dispatch.cc has a row for each.
constexpr std::array<bool, kNumIsaLevels> kBuilt = {OCTAVO_HAS_SCALAR, OCTAVO_HAS_AVX2, OCTAVO_HAS_AVXVNNI,
                                                    OCTAVO_HAS_AVX512VNNI, OCTAVO_HAS_NEON};
constexpr std::string_view kHowToBuild = "configure it with -DOCTAVO_ISA_LEVELS=all for every level";

bool contains(const std::vector<IsaLevel>& levels, IsaLevel level) {
  return std::find(levels.begin(), levels.end(), level) != levels.end();
}

std::string names_of(const std::vector<IsaLevel>& levels) {
  std::string names;
  for (const IsaLevel level : levels) names += (names.empty() ? "" : ", ") + std::string(isa_name(level));
  return names;
}

std::optional<std::string> read_first_line(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  if (!std::getline(file, line)) return std::nullopt;
  return line;
}

/// The cgroup v2 folder of this process ("0::/path" in /proc/self/cgroup), or the root.
std::string cgroup_folder(const SystemFolders& folders) {
  std::ifstream file(folders.proc + "/self/cgroup");
  for (std::string line; std::getline(file, line);)
    if (line.starts_with("0::")) return folders.cgroup + line.substr(3);
  return folders.cgroup;
}

/// Calls `visit(folder)` for the process's cgroup and each of its parents: the tightest limit of all of them counts.
template <class Visit>
void visit_cgroups(const SystemFolders& folders, Visit visit) {
  std::string folder = cgroup_folder(folders);
  while (folder.size() >= folders.cgroup.size()) {
    visit(folder);
    const std::size_t slash = folder.find_last_of('/');
    if (slash == std::string::npos || folder == folders.cgroup) break;
    folder.resize(slash);
  }
}

double cgroup_cpu_quota(const SystemFolders& folders) {
  double quota = std::numeric_limits<double>::infinity();
  visit_cgroups(folders, [&](const std::string& folder) {
    std::istringstream in(read_first_line(folder + "/cpu.max").value_or(""));
    std::string limit;
    double period = 0;
    if ((in >> limit >> period) && limit != "max" && period > 0) quota = std::min(quota, std::stod(limit) / period);
  });
  return quota;
}

/// None: no number, such as "max", or no such file.
std::optional<std::uint64_t> read_u64(const std::optional<std::string>& text) {
  std::istringstream in(text.value_or(""));
  std::uint64_t value = 0;
  return (in >> value) ? std::optional(value) : std::nullopt;
}

/// The number behind `name` in a file of lines "name number".
std::optional<std::uint64_t> read_field(const std::string& path, std::string_view name) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);)
    if (line.starts_with(name)) return read_u64(line.substr(name.size()));
  return std::nullopt;
}

/// What a cgroup may still take; none where it has no limit.
std::optional<std::uint64_t> cgroup_free_bytes(const std::string& folder) {
  const auto limit = read_u64(read_first_line(folder + "/memory.max"));
  const auto used = read_u64(read_first_line(folder + "/memory.current"));
  if (!limit || !used) return std::nullopt;
  // Pages of files that were read, such as a model's, count as used until somebody needs the memory.
  const std::uint64_t droppable = read_field(folder + "/memory.stat", "inactive_file ").value_or(0);
  const std::uint64_t held = *used - std::min(*used, droppable);
  return *limit - std::min(*limit, held);
}

}  // namespace

std::string_view isa_name(IsaLevel level) { return kIsaNames[static_cast<std::size_t>(level)]; }

std::vector<IsaLevel> IsaLevels::usable() const {
  std::vector<IsaLevel> both;
  for (const IsaLevel level : built)
    if (contains(processor, level)) both.push_back(level);
  return both;
}

IsaLevels isa_levels() {
  IsaLevels levels;
  for (int i = 0; i < kNumIsaLevels; ++i) {
    const auto level = static_cast<IsaLevel>(i);
    if (kBuilt[static_cast<std::size_t>(i)]) levels.built.push_back(level);
    if (processor_has(level)) levels.processor.push_back(level);
  }
  return levels;
}

bool isa_supported(IsaLevel level) { return kBuilt[static_cast<std::size_t>(level)] && processor_has(level); }

std::vector<IsaLevel> supported_isa_levels() { return isa_levels().usable(); }

Result<IsaLevel> parse_isa(std::string_view name, const IsaLevels& levels) {
  const std::vector<IsaLevel> usable = levels.usable();
  if (name == "auto") {
    if (!usable.empty()) return usable.back();
    return fail("this build has the instruction sets: {}, and this processor: {}; {}", names_of(levels.built),
                names_of(levels.processor), kHowToBuild);
  }
  const auto found = std::find(kIsaNames.begin(), kIsaNames.end(), name);
  if (found == kIsaNames.end()) return fail("unknown instruction set '{}'; here there are: {}", name, names_of(usable));
  const auto level = static_cast<IsaLevel>(found - kIsaNames.begin());
  if (!contains(levels.processor, level))
    return fail("instruction set '{}' is not supported by this processor, which has: {}", name,
                names_of(levels.processor));
  if (!contains(levels.built, level))
    return fail("instruction set '{}' is not in this build, which has: {}; {}", name, names_of(levels.built),
                kHowToBuild);
  return level;
}

int usable_cpus(const SystemFolders& folders) {
  cpu_set_t set;
  CPU_ZERO(&set);
  int cpus = 1;
  if (::sched_getaffinity(0, sizeof(set), &set) == 0) cpus = std::max(1, CPU_COUNT(&set));
  const double quota = cgroup_cpu_quota(folders);
  if (std::isfinite(quota)) cpus = std::min(cpus, std::max(1, static_cast<int>(std::ceil(quota))));
  return cpus;
}

std::string cpu_model_name() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with("model name")) continue;
    const std::size_t colon = line.find(": ");
    if (colon != std::string::npos) return line.substr(colon + 2);
  }
  return "unknown";
}

std::uint64_t available_memory_bytes(const SystemFolders& folders) {
  std::uint64_t available = std::numeric_limits<std::uint64_t>::max();
  if (const auto kib = read_field(folders.proc + "/meminfo", "MemAvailable:")) available = *kib * 1024;
  visit_cgroups(folders, [&](const std::string& folder) {
    if (const auto free = cgroup_free_bytes(folder)) available = std::min(available, *free);
  });
  return available;
}

}  // namespace octavo
