// Reads pre_tokenizer of a tokenizer.json. Only read_pipeline() uses it.
#pragma once

#include <string_view>

#include "base/error.h"
#include "tokenizer/json/json_node.h"
#include "tokenizer/json/tokenizer_json.h"

namespace octavo {

/// Reads the cuts of `root`, the whole tokenizer.json, into `out`, whose normalizer is known.
Result<void> read_cuts(const JsonNode& root, TokenizerJsonPipeline& out);

/// The "always", "first" or "never" of a Metaspace, or the flag of files from before 2024.
Result<std::string_view> read_prepend_scheme(const JsonNode& node);

}  // namespace octavo
