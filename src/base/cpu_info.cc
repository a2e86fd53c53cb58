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

constexpr std::array<std::string_view, kNumIsaLevels> kIsaNames = {"scalar", "avx2", "avxvnni", "avx512vnni", "neon"};

std::optional<std::string> read_first_line(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  if (!std::getline(file, line)) return std::nullopt;
  return line;
}

/// The cgroup v2 folder of this process ("0::/path" in /proc/self/cgroup), or the root.
std::string cgroup_folder() {
  std::ifstream file("/proc/self/cgroup");
  for (std::string line; std::getline(file, line);)
    if (line.starts_with("0::")) return "/sys/fs/cgroup" + line.substr(3);
  return "/sys/fs/cgroup";
}

/// Calls `visit(text of name)` for the process's cgroup and each of its parents that has such a file.
template <class Visit>
void visit_cgroup_files(std::string_view name, Visit visit) {
  constexpr std::string_view kRoot = "/sys/fs/cgroup";
  std::string folder = cgroup_folder();
  while (folder.size() >= kRoot.size()) {
    if (auto text = read_first_line(folder + "/" + std::string(name))) visit(*text);
    const std::size_t slash = folder.find_last_of('/');
    if (slash == std::string::npos || folder == kRoot) break;
    folder.resize(slash);
  }
}

double cgroup_cpu_quota() {
  double quota = std::numeric_limits<double>::infinity();
  visit_cgroup_files("cpu.max", [&](const std::string& text) {
    std::istringstream in(text);
    std::string limit;
    double period = 0;
    if ((in >> limit >> period) && limit != "max" && period > 0) quota = std::min(quota, std::stod(limit) / period);
  });
  return quota;
}

std::uint64_t read_u64(const std::string& text) {
  std::istringstream in(text);
  std::uint64_t value = 0;
  return (in >> value) ? value : std::numeric_limits<std::uint64_t>::max();
}

}  // namespace

std::string_view isa_name(IsaLevel level) { return kIsaNames[static_cast<std::size_t>(level)]; }

bool isa_supported(IsaLevel level) {
#if defined(__x86_64__)
  const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("f16c");
  switch (level) {
    case IsaLevel::kScalar: return true;
    case IsaLevel::kAvx2: return avx2;
    case IsaLevel::kAvxVnni: return avx2 && __builtin_cpu_supports("avxvnni");
    case IsaLevel::kAvx512Vnni:
      return avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
             __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq") &&
             __builtin_cpu_supports("avx512vnni");
    case IsaLevel::kNeon: return false;
  }
  return false;
#elif defined(__aarch64__)
  return level == IsaLevel::kScalar || level == IsaLevel::kNeon;
#else
  return level == IsaLevel::kScalar;
#endif
}

std::vector<IsaLevel> supported_isa_levels() {
  std::vector<IsaLevel> levels;
  for (int i = 0; i < kNumIsaLevels; ++i)
    if (const auto level = static_cast<IsaLevel>(i); isa_supported(level)) levels.push_back(level);
  return levels;
}

Result<IsaLevel> parse_isa(std::string_view name) {
  const std::vector<IsaLevel> supported = supported_isa_levels();
  if (name == "auto") return supported.back();
  std::string names;
  for (const IsaLevel level : supported) names += (names.empty() ? "" : ", ") + std::string(isa_name(level));
  const auto found = std::find(kIsaNames.begin(), kIsaNames.end(), name);
  if (found == kIsaNames.end()) return fail("unknown instruction set '{}'; this processor has: {}", name, names);
  const auto level = static_cast<IsaLevel>(found - kIsaNames.begin());
  if (!isa_supported(level))
    return fail("instruction set '{}' is not supported by this processor, which has: {}", name, names);
  return level;
}

int usable_cpus() {
  cpu_set_t set;
  CPU_ZERO(&set);
  int cpus = 1;
  if (::sched_getaffinity(0, sizeof(set), &set) == 0) cpus = std::max(1, CPU_COUNT(&set));
  const double quota = cgroup_cpu_quota();
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

std::uint64_t available_memory_bytes() {
  std::uint64_t available = std::numeric_limits<std::uint64_t>::max();
  std::ifstream file("/proc/meminfo");
  for (std::string line; std::getline(file, line);)
    if (line.starts_with("MemAvailable:")) available = read_u64(line.substr(13)) * 1024;
  // A cgroup's limit and its current use are both files of one folder; the tightest folder counts.
  std::vector<std::uint64_t> limits;
  visit_cgroup_files("memory.max", [&](const std::string& text) { limits.push_back(read_u64(text)); });
  std::vector<std::uint64_t> used;
  visit_cgroup_files("memory.current", [&](const std::string& text) { used.push_back(read_u64(text)); });
  for (std::size_t i = 0; i < std::min(limits.size(), used.size()); ++i)
    if (limits[i] != std::numeric_limits<std::uint64_t>::max())
      available = std::min(available, limits[i] > used[i] ? limits[i] - used[i] : 0);
  return available;
}

}  // namespace octavo
