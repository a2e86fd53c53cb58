// The words, the chat template and the defaults of sampling of a Hugging Face folder, under GGUF's keys.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "json/json_file.h"
#include "source/folder/directory_builder.h"

namespace octavo {

/// Reads tokenizer.json, tokenizer_config.json, chat_template.jinja and generation_config.json, where they exist, and
/// adds their keys. tokenizer.json is kept as it is, under tokenizer.huggingface.json. `texts` gets the bytes of all
/// files. Errors: a file is no such JSON, is too large, or has a value of another kind.
Result<void> add_word_keys(const std::filesystem::path& folder, const JsonObject& config, DirectoryBuilder& out,
                           std::vector<std::string>& texts);

}  // namespace octavo
