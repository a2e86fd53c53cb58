#include "source/folder/checkpoint.h"

#include <algorithm>
#include <set>

#include "base/stop_check.h"
#include "base/text.h"
#include "json/json_file.h"

namespace octavo {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kWhole = "model.safetensors", kIndex = "model.safetensors.index.json";
constexpr std::size_t kMaxFiles = 1024;
constexpr JsonLimits kIndexLimits{.max_bytes = std::size_t{64} << 20, .max_values = std::size_t{1} << 20};

/// Reads the index's map from tensors to files; the files are in no folders of their own.
Result<std::map<std::string, std::string>> read_index(const fs::path& path) {
  OCTAVO_TRY(const TemplateValue value, read_json_file(path, kIndexLimits));
  const std::string name = path.string();
  OCTAVO_TRY(const JsonObject index, JsonObject::of(value, name));
  OCTAVO_TRY(const auto weight_map, index.object_if("weight_map"));
  if (!weight_map) return fail("{} is missing", index.place("weight_map"));
  std::map<std::string, std::string> files;
  for (const auto& [tensor, file] : weight_map->members()) {
    const auto* text = std::get_if<std::string>(&file);
    if (text == nullptr || text->empty() || text->contains('/') || text->starts_with('.'))
      return fail("{}: {}: expected the name of a file beside it", name, quote(tensor));
    if (!files.emplace(tensor, *text).second) return fail("{}: names {} twice", name, quote(tensor));
  }
  return files;
}

}  // namespace

Result<Checkpoint> Checkpoint::open(const fs::path& folder, std::span<const fs::path> dense,
                                    const std::stop_token& stop) {
  Checkpoint checkpoint;
  OCTAVO_TRY_VOID(checkpoint.open_files(folder, stop));
  if (dense.empty()) return checkpoint;
  for (std::size_t i = 0; i < dense.size(); ++i) {
    OCTAVO_TRY_VOID(checkpoint.add_file(dense[i] / kWhole));
    checkpoint.files_.back().rename_tensors(i + 1 == dense.size() ? "dense.last." : "dense.first.");
  }
  OCTAVO_TRY_VOID(checkpoint.list_tensors());
  return checkpoint;
}

Result<void> Checkpoint::open_files(const fs::path& folder, const std::stop_token& stop) {
  std::error_code ignored;
  if (!fs::exists(folder / kIndex, ignored)) {
    if (!fs::exists(folder / kWhole, ignored))
      return fail("{}: found neither {} nor {}", folder.string(), kWhole, kIndex);
    OCTAVO_TRY_VOID(add_file(folder / kWhole));
    return list_tensors();
  }
  OCTAVO_TRY(const auto index, read_index(folder / kIndex));
  std::set<std::string> names;
  for (const auto& [tensor, file] : index) names.insert(file);
  if (names.empty() || names.size() > kMaxFiles)
    return fail("{}: names {} files, expected 1 to {}", (folder / kIndex).string(), names.size(), kMaxFiles);
  for (const std::string& name : names) {
    OCTAVO_TRY_VOID(check_stop(stop, "loading"));
    OCTAVO_TRY_VOID(add_file(folder / name));
  }
  OCTAVO_TRY_VOID(list_tensors());
  for (const CheckpointTensor& tensor : tensors_) {
    const auto listed = index.find(tensor.stored->name);
    const std::string found = tensor.file->file().path().filename().string();
    if (listed == index.end() || listed->second != found)
      return fail("{}: has tensor {}, which {} does not say", (folder / found).string(), quote(tensor.stored->name),
                  kIndex);
  }
  if (tensors_.size() == index.size()) return {};
  std::set<std::string_view> found;
  for (const CheckpointTensor& tensor : tensors_) found.insert(tensor.stored->name);
  for (const auto& [tensor, file] : index)
    if (!found.contains(tensor))
      return fail("{}: lacks tensor {}, which {} expects there", (folder / file).string(), quote(tensor), kIndex);
  return {};
}

Result<void> Checkpoint::add_file(const fs::path& path) {
  OCTAVO_TRY(SafetensorsFile file, SafetensorsFile::open(path));
  files_.push_back(std::move(file));
  return {};
}

Result<void> Checkpoint::list_tensors() {
  tensors_.clear();
  std::set<std::string_view> names;
  for (std::size_t i = 0; i < files_.size(); ++i) {
    for (const StoredTensor& stored : files_[i].tensors()) {
      if (!names.insert(stored.name).second)
        return fail("{}: has tensor {}, which another file has, too", files_[i].file().path().string(),
                    quote(stored.name));
      tensors_.push_back({&files_[i], i, &stored});
    }
  }
  return {};
}

}  // namespace octavo
