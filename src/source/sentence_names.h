// The keys for what a folder of sentence-transformers says beyond GGUF's own keys. Constants.
#pragma once

#include <string_view>

namespace octavo::sentence_names {

inline constexpr std::string_view kConfig = "sentence_transformers.config";             // the file of prompts, as it is
inline constexpr std::string_view kMaxTokens = "sentence_transformers.max_seq_length";  // the most tokens of a text

}  // namespace octavo::sentence_names
