#include "hub/local_models.h"

#include <algorithm>
#include <map>
#include <set>

#include "base/text.h"
#include "hub/cache.h"
#include "hub/file_choice.h"
#include "hub/folder_choice.h"
#include "hub/ollama.h"
#include "source/encoder_name.h"
#include "source/shard_name.h"

namespace octavo::hub {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMaxModels = 1U << 14;
constexpr std::string_view kHub = "hub", kOllama = "ollama";

using FilesByFolder = std::map<fs::path, std::vector<std::string>>;

/// The folders that list folders of theirs as modules of a model.
std::set<fs::path> folders_of_modules(const FilesByFolder& names) {
  std::set<fs::path> folders;
  for (const auto& [folder, in_it] : names)
    if (std::ranges::find(in_it, kModules) != in_it.end()) folders.insert(folder);
  return folders;
}

/// Collects models; the first of a name counts.
class Models {
 public:
  /// `path`: the folder of a model of safetensors.
  void add(std::string name, std::string_view place, std::vector<fs::path> files, fs::path path = {}) {
    LocalModel model{
        .name = std::move(name), .place = std::string(place), .files = std::move(files), .path = std::move(path)};
    if (model.path.empty()) model.path = model.files.front();
    for (const fs::path& file : model.files) {
      std::error_code error;
      const std::uintmax_t size = fs::file_size(file, error);
      if (error) return;
      model.bytes += size;
    }
    if (models_.size() < kMaxModels && names_.insert(model.name).second) models_.push_back(std::move(model));
  }

  /// The models of a folder. `name_of(path, is_folder)` makes a name of the first file's path from the folder, or of
  /// that of a folder of safetensors below it, "" for itself.
  template <class NameOf>
  void add_folder(const fs::path& folder, std::string_view place, const NameOf& name_of) {
    if (folder.empty()) return;
    const std::vector<std::string> paths = files_in(folder);
    for (const std::vector<std::size_t>& group : model_files(paths)) {
      std::vector<fs::path> files;
      files.reserve(group.size());
      for (const std::size_t i : group) files.push_back(folder / paths[i]);
      add(name_of(paths[group.front()], false), place, std::move(files));
    }
    add_folders_below(folder, place, paths, name_of);
  }

  std::vector<LocalModel> take() && { return std::move(models_); }

 private:
  template <class NameOf>
  void add_folders_below(const fs::path& folder, std::string_view place, std::span<const std::string> paths,
                         const NameOf& name_of) {
    FilesByFolder names;
    for (const std::string& path : paths)
      names[fs::path(path).parent_path()].push_back(fs::path(path).filename().string());
    const std::set<fs::path> with_modules = folders_of_modules(names);
    const auto is_module = [&](const fs::path& below) {
      return !below.empty() && with_modules.contains(below.parent_path());
    };
    for (const auto& [below, in_it] : names)  // files of modules are their model's
      if (is_module(below))
        for (const std::string& name : in_it) names[below.parent_path()].push_back((below.filename() / name).string());
    for (const auto& [below, in_it] : names) {
      if (is_module(below)) continue;
      std::vector<fs::path> files;
      for (const std::size_t i : folder_files(in_it)) files.push_back(folder / below / in_it[i]);
      if (files.empty()) continue;
      std::string name = name_of(below.string(), true);
      if (name.empty()) name = folder.filename().string();
      add(std::move(name), place, std::move(files), below.empty() ? folder : folder / below);
    }
  }

  std::vector<LocalModel> models_;
  std::set<std::string> names_;
};

/// The name of a file without its shard's numbers and suffix, or of a folder.
std::string stem_of(const std::string& path, bool is_folder) {
  return is_folder ? fs::path(path).filename().string() : model_stem(path);
}

/// The name of stem_of() with the folders in front of it.
std::string path_stem_of(const std::string& path, bool is_folder) {
  return is_folder ? path : (fs::path(path).parent_path() / model_stem(path)).string();
}

void add_hub_cache(const fs::path& cache, Models& models) {
  if (cache.empty()) return;
  std::vector<std::string> repos;
  std::error_code error;
  for (fs::directory_iterator it(cache, error), end; !error && it != end; it.increment(error))
    if (auto repo = repo_of_folder(it->path().filename().string())) repos.push_back(std::move(*repo));
  std::ranges::sort(repos);
  for (const std::string& repo : repos)
    for (const fs::path& snapshot : CachedRepo(cache, repo).snapshots())
      models.add_folder(snapshot, kHub, [&](const std::string& path, bool is_folder) {
        return fmt::format("{}:{}", repo, is_folder && path.empty() ? kFolderType : path);
      });
}

/// Whether a real path lies below a real folder, name by name: /cache-2/x is not below /cache.
bool is_below(const fs::path& path, const fs::path& folder) {
  const auto [rest_of_folder, rest_of_path] = std::ranges::mismatch(folder, path);
  return rest_of_folder == folder.end() && rest_of_path != path.end();
}

/// The path without links; empty: it is not there.
fs::path real_path(const fs::path& path) {
  std::error_code error;
  fs::path real = fs::canonical(path, error);
  if (error) real.clear();
  return real;
}

/// Whether the file itself, not what it may link to, lies in the cache.
bool lies_in(const fs::path& cache, const fs::path& file) { return is_below(real_path(file.parent_path()), cache); }

bool is_link(const fs::path& file) {
  std::error_code ignored;
  return fs::is_symlink(fs::symlink_status(file, ignored));
}

Result<void> remove_file(const fs::path& file, RemovedModel& result) {
  std::error_code error;
  if (fs::remove(file, error)) result.removed.push_back(file);
  if (error) return fail("{}: cannot be removed: {}", file.string(), error.message());
  return {};
}

/// Links in other snapshots to the same file go, too: they are the same model at other times.
Result<void> remove_from_hub(const fs::path& cache, const CachedRepo& repo, const fs::path& file,
                             RemovedModel& result) {
  if (!is_link(file)) return remove_file(file, result);
  const fs::path blob = real_path(file), blobs = real_path(repo.folder() / "blobs");
  OCTAVO_TRY_VOID(remove_file(file, result));
  for (const fs::path& snapshot : repo.snapshots())
    for (const std::string& path : files_in(snapshot))
      if (const fs::path link = snapshot / path; is_link(link) && lies_in(cache, link) && real_path(link) == blob)
        OCTAVO_TRY_VOID(remove_file(link, result));
  if (is_below(blobs, cache) && blob.parent_path() == blobs) return remove_file(blob, result);
  result.kept.push_back(blob);
  return {};
}

/// Draft files and encoders of pictures that no model lies beside any more.
Result<void> remove_unused_parts(const fs::path& cache, const CachedRepo& repo, RemovedModel& result) {
  for (const fs::path& snapshot : repo.snapshots()) {
    const std::vector<std::string> paths = files_in(snapshot);
    if (!model_files(paths).empty() || !folder_files(paths).empty()) return {};
  }
  for (const fs::path& snapshot : repo.snapshots())
    for (const std::string& path : files_in(snapshot))
      if (const fs::path file = snapshot / path;
          (is_draft_file(path) || is_encoder_name(path)) && is_link(file) && lies_in(cache, file))
        OCTAVO_TRY_VOID(remove_from_hub(cache, repo, file, result));
  return {};
}

/// Error: a file lies outside of the cache.
Result<void> check_lies_in(const fs::path& cache, const fs::path& given_cache, const LocalModel& model) {
  for (const fs::path& file : model.files)
    if (!lies_in(cache, file))
      return fail("{}: lies in {}, outside of the hub's cache {}: nothing of the model is removed", file.string(),
                  real_path(file.parent_path()).string(), given_cache.string());
  return {};
}

}  // namespace

std::vector<LocalModel> list_local_models(const Settings& settings, std::span<const fs::path> folders) {
  Models models;
  for (const fs::path& folder : folders) models.add_folder(folder, "folder", path_stem_of);
  models.add_folder(settings.models, "octavo", stem_of);
  add_hub_cache(settings.cache, models);
  models.add_folder(settings.llama_cpp, "llama.cpp", stem_of);
  for (const fs::path& folder : settings.lm_studio) models.add_folder(folder, "LM Studio", path_stem_of);
  for (const fs::path& folder : settings.ollama)
    for (OllamaModel& model : list_ollama(folder)) models.add(std::move(model.name), kOllama, {model.blob});
  return std::move(models).take();
}

std::vector<const LocalModel*> find_local_models(std::span<const LocalModel> models, std::string_view text) {
  const std::string wanted = lower_case(text);
  std::vector<const LocalModel*> found;
  for (const LocalModel& model : models) {
    const std::string name = lower_case(model.name);
    if (name == wanted) return {&model};
    if (name.contains(wanted)) found.push_back(&model);
  }
  return found;
}

Result<RemovedModel> remove_local_model(const Settings& settings, const LocalModel& model) {
  if (model.place == kOllama)
    return fail("{}: it is ollama's, whose models share files: ollama rm {}", model.name, model.name);
  RemovedModel result;
  if (model.place == kHub) {
    const fs::path cache = real_path(settings.cache);
    OCTAVO_TRY_VOID(check_lies_in(cache, settings.cache, model));
    const CachedRepo repo(settings.cache, model.name.substr(0, model.name.find(':')));
    for (const fs::path& file : model.files) OCTAVO_TRY_VOID(remove_from_hub(cache, repo, file, result));
    OCTAVO_TRY_VOID(remove_unused_parts(cache, repo, result));
    return result;
  }
  for (const fs::path& file : model.files) {
    if (is_link(file)) result.kept.push_back(real_path(file));
    OCTAVO_TRY_VOID(remove_file(file, result));
  }
  return result;
}

}  // namespace octavo::hub
