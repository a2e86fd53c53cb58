// Which files of a repository, or of a folder, are a model as Hugging Face's tools save it. Pure; any thread.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace octavo::hub {

/// The type of such a model in a name, behind the colon and in any case, also where there are GGUF files.
inline constexpr std::string_view kFolderType = "safetensors";
/// The file of a folder whose folders are parts of its model.
inline constexpr std::string_view kModules = "modules.json";

/// Whether a file of that name may be a part of such a model, beside its weights.
bool is_beside_weights(std::string_view name);

/// The indexes of the files that make a model of a folder: config.json, model.safetensors or all of its parts with
/// their index, and vocabulary, template and settings, as far as they exist. Files in folders below do not count,
/// except those of sentence-transformers' modules. Empty: config.json or some of the weights are missing.
std::vector<std::size_t> folder_files(std::span<const std::string> paths);

/// The files that a name means, which are one model.
struct ModelChoice {
  std::vector<std::size_t> files;  // the indexes of the files; empty: no file has the name
  bool is_folder = false;          // the model is all of them, not only the first one
};
/// The GGUF files of choose_files(); or a folder, where there are none and no type is asked for, or kFolderType is.
Result<ModelChoice> choose_model(std::span<const std::string> paths, std::string_view wanted);

}  // namespace octavo::hub
