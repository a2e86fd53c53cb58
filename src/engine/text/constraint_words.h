// A model's words as constraints see them.
//
// Free functions; any thread.
#pragma once

#include <memory>

#include "constraint/compiled_constraint.h"
#include "constraint/grammar/gbnf.h"
#include "engine/text/model_tokenizer.h"

namespace octavo {

/// The first `num_drawable` tokens. Control tokens and the marks of reasoning are allowed by no text. There are words,
/// and they must outlive it.
std::shared_ptr<const ConstraintVocabulary> constraint_vocabulary(const ModelTokenizer& words, int num_drawable);

/// The tokens that a grammar may name. The words must outlive it.
TokenNames constraint_token_names(const ModelTokenizer& words, int num_drawable);

}  // namespace octavo
