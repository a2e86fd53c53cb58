// Finds the tokens that end an answer, and the reason for each.
//
// Free function, any thread.
#pragma once

#include <vector>

#include "octavo/model_info.h"
#include "source/model_source.h"
#include "tokenizer/words/vocab.h"

namespace octavo {

/// All tokens of the vocabulary that end an answer, ascending, each with the key of the file, or the table, that says
/// so.
std::vector<EndToken> list_end_tokens(const ModelSource& source, const Vocab& vocab);

}  // namespace octavo
