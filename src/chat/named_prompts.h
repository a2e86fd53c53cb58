// The words that makers of models want in front of a text, by name: those of a folder of sentence-transformers
// (config_sentence_transformers.json), which stay in a GGUF file that `octavo convert` makes of it; and, as other GGUF
// files say nothing of them, a table of what makers say of their models.
//
// Free functions; any thread.
#pragma once

#include "octavo/embedding.h"
#include "source/model_source.h"

namespace octavo {

/// Fills in `prompts` and `default_prompt`. Prompts of the table have no default. Error: the file's are no such JSON,
/// or its default is none of them.
Result<void> read_named_prompts(const ModelSource& source, std::string_view architecture, std::string_view name,
                                EmbeddingInfo& info);

}  // namespace octavo
