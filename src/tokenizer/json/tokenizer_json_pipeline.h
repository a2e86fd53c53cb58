// Reads normalizer, pre_tokenizer, decoder and post_processor of a tokenizer.json. Only TokenizerJson uses it.
#pragma once

#include "base/error.h"
#include "tokenizer/json/json_node.h"
#include "tokenizer/json/tokenizer_json.h"

namespace octavo {

/// `root` is the whole tokenizer.json. Errors: a part that is not known, or that Octavo cannot do.
Result<TokenizerJsonPipeline> read_pipeline(const JsonNode& root);

}  // namespace octavo
