#include "base/cgroup.h"

#include <algorithm>
#include <fstream>
#include <sstream>
#include <string>
#include <string_view>

#include "base/cpu_info.h"
#include "base/system_file.h"

namespace octavo {
namespace {

/// Whether `list`, such as "cpu,cpuacct", has `name`.
bool has_name(std::string_view list, std::string_view name) {
  while (!list.empty()) {
    const std::size_t comma = std::min(list.find(','), list.size());
    if (list.substr(0, comma) == name) return true;
    list.remove_prefix(std::min(comma + 1, list.size()));
  }
  return false;
}

/// The process's group in a hierarchy: "/path" from a line "number:controllers:/path" of /proc/self/cgroup. Version 2
/// names no controllers there. None: the system has no such hierarchy.
std::optional<std::string> group_path(const SystemFolders& folders, std::string_view controller) {
  std::ifstream file(folders.proc + "/self/cgroup");
  for (std::string line; std::getline(file, line);) {
    const std::size_t first = line.find(':');
    const std::size_t second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string_view controllers = std::string_view(line).substr(first + 1, second - first - 1);
    if (controller.empty() ? controllers.empty() : has_name(controllers, controller)) return line.substr(second + 1);
  }
  return std::nullopt;
}

/// Calls `visit(folder)` for the group below `root` and for each group around it. A container sees its own group as the
/// root, and the host's path leads nowhere there: a missing folder has no limit.
template <class Visit>
void visit_groups(const std::string& root, const std::string& path, Visit visit) {
  std::string folder = root + path;
  while (folder.size() >= root.size()) {
    visit(folder);
    const std::size_t slash = folder.find_last_of('/');
    if (slash == std::string::npos || folder == root) break;
    folder.resize(slash);
  }
}

template <class T>
void lower(std::optional<T>& least, const std::optional<T>& value) {
  if (value && (!least || *value < *least)) least = value;
}

/// The least value of a process's groups: `of` reads a folder of version 2, `of_v1` a folder of the controller in
/// version 1.
template <class T, class Of, class OfV1>
std::optional<T> least_of_groups(const SystemFolders& folders, const std::string& controller, Of of, OfV1 of_v1) {
  std::optional<T> least;
  visit_groups(folders.cgroup, group_path(folders, "").value_or(""),
               [&](const std::string& folder) { lower(least, of(folder)); });
  if (const auto path = group_path(folders, controller))
    visit_groups(folders.cgroup + "/" + controller, *path,
                 [&](const std::string& folder) { lower(least, of_v1(folder)); });
  return least;
}

std::optional<double> quota_of(const std::string& folder) {
  std::istringstream in(read_first_line(folder + "/cpu.max").value_or(""));
  double limit = 0, period = 0;
  if ((in >> limit >> period) && limit > 0 && period > 0) return limit / period;  // "max" is no number
  return std::nullopt;
}

std::optional<double> quota_of_v1(const std::string& folder) {
  const auto limit = read_u64(read_first_line(folder + "/cpu.cfs_quota_us"));  // -1: none
  const auto period = read_u64(read_first_line(folder + "/cpu.cfs_period_us"));
  if (!limit || !period || *limit == 0 || *period == 0) return std::nullopt;
  return static_cast<double>(*limit) / static_cast<double>(*period);
}

/// The bytes that a group may still take. The system counts pages of read files, such as a model's, as used until
/// somebody needs the memory; here they count as free.
std::optional<std::uint64_t> free_of(const std::string& folder, std::string_view limit_file, std::string_view used_file,
                                     std::string_view droppable_field) {
  const auto limit = read_u64(read_first_line(folder + std::string(limit_file)));
  const auto used = read_u64(read_first_line(folder + std::string(used_file)));
  if (!limit || !used) return std::nullopt;
  const std::uint64_t droppable = read_field(folder + "/memory.stat", droppable_field).value_or(0);
  const std::uint64_t held = *used - std::min(*used, droppable);
  return *limit - std::min(*limit, held);
}

}  // namespace

std::optional<double> cgroup_cpu_quota(const SystemFolders& folders) {
  return least_of_groups<double>(folders, "cpu", quota_of, quota_of_v1);
}

std::optional<std::uint64_t> cgroup_free_memory(const SystemFolders& folders) {
  return least_of_groups<std::uint64_t>(
      folders, "memory",
      [](const std::string& folder) { return free_of(folder, "/memory.max", "/memory.current", "inactive_file "); },
      [](const std::string& folder) {
        return free_of(folder, "/memory.limit_in_bytes", "/memory.usage_in_bytes", "total_inactive_file ");
      });
}

std::optional<std::uint64_t> cgroup_memory_limit(const SystemFolders& folders) {
  return least_of_groups<std::uint64_t>(
      folders, "memory", [](const std::string& folder) { return read_u64(read_first_line(folder + "/memory.max")); },
      [](const std::string& folder) { return read_u64(read_first_line(folder + "/memory.limit_in_bytes")); });
}

}  // namespace octavo
