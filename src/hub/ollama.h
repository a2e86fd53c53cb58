// Ollama's models: a manifest of each names blobs by their hashes.
//
//     manifests/HOST/NAMESPACE/NAME/TAG     JSON; registry.ollama.ai/library/... is what a bare NAME:TAG means
//     blobs/sha256-HASH                     a GGUF file, beside templates and licences
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace octavo::hub {

struct OllamaModel {
  std::string name;            // the name in ollama's form: "llama3.2:3b", "someone/model:latest"
  std::filesystem::path blob;  // the path of the model's file, if it is there
};

/// The models in a folder of ollama's, at most some thousand; files that are no manifests are left out.
std::vector<OllamaModel> list_ollama(const std::filesystem::path& folder);

/// The hash of the model's file, 64 hexadecimal digits. Error: no manifest, or one without a model.
Result<std::string> parse_ollama_manifest(std::string_view text);

}  // namespace octavo::hub
