// The pooling that a folder of sentence-transformers asks for, as GGUF's key.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/error.h"
#include "source/folder/directory_builder.h"

namespace octavo {

/// Reads 1_Pooling/config.json, where it is. `prefix`: GGUF's architecture with a dot. `texts` gets the bytes of the
/// file. Errors: it is no such JSON, or asks for another pooling than mean, cls or last.
Result<void> add_pooling_keys(const std::filesystem::path& folder, const std::string& prefix, DirectoryBuilder& out,
                              std::vector<std::string>& texts);

}  // namespace octavo
