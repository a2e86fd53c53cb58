// Reads pre_tokenizer of a tokenizer.json. Only read_pipeline() uses it.
#pragma once

#include <string_view>

#include "json/json_cursor.h"
#include "tokenizer/json/tokenizer_json.h"

namespace octavo {

/// Reads the cuts of `root`, the whole tokenizer.json, into `out`, whose normalizer was read before.
JsonResult<void> read_cuts(const JsonCursor& root, TokenizerJsonPipeline& out);

/// The "always", "first" or "never" of a Metaspace, or the flag of files from before 2024.
JsonResult<std::string_view> read_prepend_scheme(const JsonCursor& node);

}  // namespace octavo
