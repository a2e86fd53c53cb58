// Texts as the tokens that vectors and scores are made of: alone, or as a pair of a query and a document; cut at their
// ends where they are too long and may be.
//
// Pure functions; any thread.
#pragma once

#include <string_view>

#include "chat/rank_template.h"
#include "octavo/embedding.h"
#include "tokenizer/tokenizer.h"

namespace octavo {

/// Error: more tokens than `options` allow, and the text must not be cut (kContextOverflow).
Result<EmbeddingPrompt> make_embedding_prompt(const Tokenizer& tokenizer, std::string_view text,
                                              const EmbeddingPromptOptions& options);
/// A prompt in the template that the file has for it, whose document is what loses its end; or a pair of texts, of
/// which the longer one does; in a vocabulary without a form for two, one text behind the other.
Result<EmbeddingPrompt> make_rank_prompt(const Tokenizer& tokenizer, const RankTemplate& rank_template,
                                         std::string_view query, std::string_view document,
                                         const EmbeddingPromptOptions& options);

}  // namespace octavo
