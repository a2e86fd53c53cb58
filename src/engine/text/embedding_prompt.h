// Texts as the tokens that vectors and scores are made of: alone, or as a pair of a query and a document; texts that
// are too long are cut at their ends, where that is allowed.
//
// Pure functions; any thread.
#pragma once

#include <string_view>

#include "chat/rank_template.h"
#include "octavo/embedding.h"
#include "tokenizer/tokenizer.h"

namespace octavo {

/// The tokens of a text. Error: it has more than `options` allow, and must not be cut (kContextOverflow).
Result<EmbeddingPrompt> make_embedding_prompt(const Tokenizer& tokenizer, std::string_view text,
                                              const EmbeddingPromptOptions& options);
/// The tokens of a pair: in the file's template, where the document is cut at its end; or as a pair of texts, where the
/// longer one is cut; or, in a vocabulary that has no form for pairs, one text after the other.
Result<EmbeddingPrompt> make_rank_prompt(const Tokenizer& tokenizer, const RankTemplate& rank_template,
                                         std::string_view query, std::string_view document,
                                         const EmbeddingPromptOptions& options);

}  // namespace octavo
