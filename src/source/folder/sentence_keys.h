// The parts that a folder of sentence-transformers has beside the model: pooling, matrices behind it, prompts, the
// longest text, and the tokens whose logits are a ranker's scores. The keys are GGUF's where GGUF has some.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "source/folder/directory_builder.h"

namespace octavo {

/// Tokens of which a model that ranks says one behind a query and a document.
struct RankTokens {
  std::uint64_t yes = 0;
  std::optional<std::uint64_t> no = {};
};

/// The modules that have tensors of their own, or take some of the model's.
struct SentenceModules {
  std::vector<std::filesystem::path> dense = {};  // folders of matrices behind the pooled row, in their order
  std::optional<RankTokens> rank = {};
};

/// Reads modules.json and the settings of what it lists, or 1_Pooling/config.json alone; sentence_bert_config.json and
/// config_sentence_transformers.json, which is kept as it is. `prefix`: GGUF's architecture with a dot. `texts` gets
/// the bytes of the files. Errors: one is no such JSON, or asks for something that is not computed here.
Result<SentenceModules> add_sentence_keys(const std::filesystem::path& folder, const std::string& prefix,
                                          DirectoryBuilder& out, std::vector<std::string>& texts);

}  // namespace octavo
