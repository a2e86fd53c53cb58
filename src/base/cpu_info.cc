#include "base/cpu_info.h"

#include <sched.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <limits>
#include <optional>
#include <set>

#include "base/cgroup.h"
#include "base/joined.h"
#include "base/system_file.h"
#include "base/to_size.h"

namespace octavo {
namespace {

/// The levels whose kernels are in this build; src/kernels/dispatch.cc has a row for each.
constexpr std::array<bool, kNumIsaLevels> kBuilt = {OCTAVO_HAS_SCALAR,     OCTAVO_HAS_AVX2,    OCTAVO_HAS_AVXVNNI,
                                                    OCTAVO_HAS_AVX512VNNI, OCTAVO_HAS_AMXBF16, OCTAVO_HAS_AMX,
                                                    OCTAVO_HAS_NEON};
constexpr std::string_view kHowToBuild = "configure it with -DOCTAVO_ISA_LEVELS=all for every level";

bool contains(const std::vector<IsaLevel>& levels, IsaLevel level) {
  return std::find(levels.begin(), levels.end(), level) != levels.end();
}

std::string names_of(const std::vector<IsaLevel>& levels) { return joined(levels, isa_name); }

/// The CPUs of the affinity mask; at least one.
std::vector<int> affinity_cpus() {
  cpu_set_t set;
  CPU_ZERO(&set);
  std::vector<int> cpus;
  if (::sched_getaffinity(0, sizeof(set), &set) == 0)
    for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu)
      if (CPU_ISSET(cpu, &set)) cpus.push_back(cpu);
  if (cpus.empty()) cpus.push_back(0);
  return cpus;
}

/// `count` CPUs, or the cgroups' quota rounded down, whichever is less. A part of a CPU does not count: all threads of
/// a step wait for a thread that the system has stopped until the quota's next period.
int within_quota(int count, const SystemFolders& folders) {
  const std::optional<double> quota = cgroup_cpu_quota(folders);
  if (!quota || *quota >= count) return count;
  return std::max(1, static_cast<int>(*quota));
}

}  // namespace

std::string_view isa_name(IsaLevel level) { return kIsaNames[to_size(level)]; }

std::vector<IsaLevel> IsaLevels::usable() const {
  std::vector<IsaLevel> both;
  for (const IsaLevel level : built)
    if (contains(processor, level)) both.push_back(level);
  return both;
}

IsaLevels isa_levels() {
  IsaLevels levels;
  levels.tiles = tile_support();
  levels.bf16_tiles = bf16_tile_support();
  for (int i = 0; i < kNumIsaLevels; ++i) {
    const auto level = static_cast<IsaLevel>(i);
    if (kBuilt[to_size(i)]) levels.built.push_back(level);
    if (processor_has(level)) levels.processor.push_back(level);
  }
  return levels;
}

bool isa_supported(IsaLevel level) { return kBuilt[to_size(level)] && processor_has(level); }

std::vector<IsaLevel> supported_isa_levels() { return isa_levels().usable(); }

Result<IsaLevel> parse_isa(std::string_view name, const IsaLevels& levels) {
  const std::vector<IsaLevel> usable = levels.usable();
  if (name == "auto") {
    const auto strongest = std::find_if(usable.rbegin(), usable.rend(), is_chosen_by_auto);
    if (strongest != usable.rend()) return *strongest;
    return fail("this build has the instruction sets: {}, and this processor: {}; {}", names_of(levels.built),
                names_of(levels.processor), kHowToBuild);
  }
  const auto found = std::find(kIsaNames.begin(), kIsaNames.end(), name);
  if (found == kIsaNames.end()) return fail("unknown instruction set '{}'; here there are: {}", name, names_of(usable));
  const auto level = static_cast<IsaLevel>(found - kIsaNames.begin());
  const TileSupport tiles = level == IsaLevel::kAmx       ? levels.tiles
                            : level == IsaLevel::kAmxBf16 ? levels.bf16_tiles
                                                          : TileSupport::kUsable;
  if (tiles != TileSupport::kUsable)
    return fail("instruction set '{}' is not supported here: {}", name, what_is_missing(tiles));
  if (!contains(levels.processor, level))
    return fail("instruction set '{}' is not supported by this processor, which has: {}", name,
                names_of(levels.processor));
  if (!contains(levels.built, level))
    return fail("instruction set '{}' is not in this build, which has: {}; {}", name, names_of(levels.built),
                kHowToBuild);
  return level;
}

int count_cores(std::span<const int> cpus, const SystemFolders& folders) {
  std::set<std::string> cores;  // each core by the list of its threads
  for (const int cpu : cpus) {
    const std::string folder = fmt::format("{}/cpu{}/topology", folders.cpu, cpu);
    std::optional<std::string> threads = read_first_line(folder + "/core_cpus_list");
    if (!threads) threads = read_first_line(folder + "/thread_siblings_list");  // its name before Linux 5.3
    cores.insert(threads ? *threads : std::to_string(cpu));
  }
  return static_cast<int>(cores.size());
}

int usable_cpus(const SystemFolders& folders) {
  return within_quota(static_cast<int>(affinity_cpus().size()), folders);
}

int default_threads(const SystemFolders& folders) {
  return within_quota(count_cores(affinity_cpus(), folders), folders);
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
  if (const auto free = cgroup_free_memory(folders)) available = std::min(available, *free);
  return available;
}

std::uint64_t total_memory_bytes(const SystemFolders& folders) {
  std::uint64_t total = std::numeric_limits<std::uint64_t>::max();
  if (const auto kib = read_field(folders.proc + "/meminfo", "MemTotal:")) total = *kib * 1024;
  if (const auto limit = cgroup_memory_limit(folders)) total = std::min(total, *limit);
  return total;
}

}  // namespace octavo
