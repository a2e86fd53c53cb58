// The parts of a folder of sentence-transformers beside the model: pooling, matrices after it, prompts, the longest
// text, and the tokens whose logits are a ranker's scores. The keys are GGUF's where GGUF has some.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "source/folder/directory_builder.h"

namespace octavo {

/// The two tokens that a model that ranks may say after a query and a document.
struct RankTokens {
  std::uint64_t yes = 0;
  std::optional<std::uint64_t> no = {};
};

/// The modules that have tensors of their own, or use some of the model's.
struct SentenceModules {
  std::vector<std::filesystem::path> dense = {};  // the folders of matrices after the pooled row, in their order
  std::optional<RankTokens> rank = {};
};

/// Reads modules.json and the settings of the modules that it lists, or only 1_Pooling/config.json;
/// sentence_bert_config.json; and config_sentence_transformers.json, which is kept as it is. `prefix`: GGUF's
/// architecture with a dot. `texts` gets the bytes of the files. Errors: a file is no such JSON, or asks for what
/// Octavo does not compute.
Result<SentenceModules> add_sentence_keys(const std::filesystem::path& folder, const std::string& prefix,
                                          DirectoryBuilder& out, std::vector<std::string>& texts);

}  // namespace octavo
