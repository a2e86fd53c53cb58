// The models on this machine: in the hub's cache, in Octavo's folder, in folders that the user names, and in those of
// llama.cpp, LM Studio and ollama. No file is opened but ollama's manifests.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "hub/settings.h"

namespace octavo::hub {

struct LocalModel {
  std::string name;   // the name for -m: "org/repo:m-Q4_0.gguf", "org/repo:safetensors", "m-Q4_0", "llama3.2:3b"
  std::string place;  // "hub", "octavo", "folder", "llama.cpp", "LM Studio", "ollama"
  std::vector<std::filesystem::path> files;  // at least one; shards in their order
  std::filesystem::path path = {};           // the path to open: the first file, or a folder of safetensors
  std::uint64_t bytes = 0;                   // the bytes of all files
};

/// The models in the order of places; no name stands twice. `folders` are the user's own, which go first.
std::vector<LocalModel> list_local_models(const Settings& settings, std::span<const std::filesystem::path> folders);

/// The models that `text` means: the one of that name, else those whose name has it as a part, in upper or lower case.
std::vector<const LocalModel*> find_local_models(std::span<const LocalModel> models, std::string_view text);

/// The result of removing a model's files.
struct RemovedModel {
  std::vector<std::filesystem::path> removed;
  std::vector<std::filesystem::path> kept;  // files to which links of the model led, and which are not its own
};

/// Removes a model's files; in the hub's cache also the other links to the same blobs of its repository, and the blobs.
/// No link is followed out of a folder; paths are compared whole and without links. Errors: a model of ollama's, which
/// shares files by its own books; a file outside of the cache, because its folder is a link, of which nothing is
/// removed; a file that cannot be removed.
Result<RemovedModel> remove_local_model(const Settings& settings, const LocalModel& model);

}  // namespace octavo::hub
