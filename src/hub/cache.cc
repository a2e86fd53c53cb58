#include "hub/cache.h"

#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <iomanip>

#include "base/file_writing.h"
#include "hub/digest.h"
#include "hub/folder_choice.h"
#include "hub/model_ref.h"

namespace octavo::hub {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kPrefix = "models--", kSeparator = "--";
constexpr std::size_t kMaxFiles = 4096;  // the most files with weights, and the most others
constexpr int kMaxDepth = 8;

std::string folder_name(const std::string& repo) {
  const std::size_t slash = repo.find('/');
  return std::string(kPrefix) + repo.substr(0, slash) + std::string(kSeparator) + repo.substr(slash + 1);
}

Result<void> make_folder(const fs::path& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) return fail("{}: cannot be made: {}", folder.string(), error.message());
  return {};
}

fs::path beside(const fs::path& path) { return path.string() + "." + std::to_string(::getpid()) + ".new"; }

}  // namespace

CachedRepo::CachedRepo(const fs::path& cache, const std::string& repo)
    : folder_(cache / folder_name(repo)), locks_(cache / ".locks" / folder_name(repo)) {}

Result<fs::path> CachedRepo::link(const std::string& commit, const std::string& path, const std::string& hash) const {
  fs::path link = snapshot(commit) / path;
  OCTAVO_TRY_VOID(make_folder(link.parent_path()));
  const fs::path made = beside(link);
  std::error_code error;
  fs::remove(made, error);
  fs::create_symlink(blob(hash).lexically_relative(link.parent_path()), made, error);
  if (error) return fail("{}: cannot be linked: {}", made.string(), error.message());
  OCTAVO_TRY_VOID(rename_file(made, link));  // readers see the old link or the new one
  return link;
}

Result<void> CachedRepo::set_main(const std::string& commit) const {
  const fs::path path = folder_ / "refs" / "main";
  OCTAVO_TRY_VOID(make_folder(path.parent_path()));
  return replace_file(path, std::as_bytes(std::span(commit)));
}

std::vector<fs::path> CachedRepo::snapshots() const {
  std::string main;
  std::ifstream(folder_ / "refs" / "main") >> std::setw(65) >> main;
  std::vector<std::pair<fs::file_time_type, fs::path>> dated;
  std::error_code error;
  for (fs::directory_iterator it(folder_ / "snapshots", error), end; !error && it != end; it.increment(error)) {
    std::error_code ignored;
    if (!hash_of_etag(it->path().filename().string()) || !it->is_directory(ignored)) continue;
    const bool is_main = it->path().filename() == main;
    dated.emplace_back(is_main ? fs::file_time_type::max() : it->last_write_time(ignored), it->path());
    if (dated.size() >= kMaxFiles) break;
  }
  std::ranges::sort(dated, std::greater());
  std::vector<fs::path> paths;
  paths.reserve(dated.size());
  for (auto& [date, path] : dated) paths.push_back(std::move(path));
  return paths;
}

std::vector<std::string> files_in(const fs::path& folder) {
  std::vector<std::string> files;
  std::size_t num_weights = 0, num_others = 0;
  std::error_code error;
  fs::recursive_directory_iterator it(folder, fs::directory_options::skip_permission_denied, error);
  for (const fs::recursive_directory_iterator end; !error && it != end; it.increment(error)) {
    if (it.depth() >= kMaxDepth) it.disable_recursion_pending();
    const std::string name = it->path().filename().string();
    const bool has_weights = name.ends_with(".gguf") || name.ends_with(".safetensors");
    if (!has_weights && !is_beside_weights(name)) continue;
    std::size_t& count = has_weights ? num_weights : num_others;
    std::error_code ignored;
    if (count >= kMaxFiles || !fs::is_regular_file(it->path(), ignored)) continue;
    files.push_back(it->path().lexically_relative(folder).string());
    if (++count >= kMaxFiles && has_weights) break;
  }
  std::ranges::sort(files);
  return files;
}

std::optional<std::string> repo_of_folder(const std::string& name) {
  if (!name.starts_with(kPrefix)) return std::nullopt;
  const std::size_t at = name.find(kSeparator, kPrefix.size());
  if (at == std::string::npos) return std::nullopt;
  const std::string repo = name.substr(kPrefix.size(), at - kPrefix.size()) + "/" + name.substr(at + kSeparator.size());
  const auto ref = ModelRef::parse(repo);
  return ref && ref->wanted.empty() ? std::optional(repo) : std::nullopt;
}

}  // namespace octavo::hub
