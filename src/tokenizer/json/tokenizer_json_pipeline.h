// Reads normalizer, pre_tokenizer, decoder and post_processor of a tokenizer.json. Only TokenizerJson uses it.
#pragma once

#include "json/json_cursor.h"
#include "tokenizer/json/tokenizer_json.h"

namespace octavo {

/// Reads the parts of `root`, the whole tokenizer.json. Errors: a part that is not known, or that Octavo cannot do.
JsonResult<TokenizerJsonPipeline> read_pipeline(const JsonCursor& root);

}  // namespace octavo
