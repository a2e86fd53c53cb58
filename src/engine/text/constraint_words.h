// A model's vocabulary in the form that constraints use.
//
// Free functions; any thread.
#pragma once

#include <memory>

#include "constraint/compiled_constraint.h"
#include "constraint/grammar/gbnf.h"
#include "engine/text/model_tokenizer.h"

namespace octavo {

/// The vocabulary of the first `num_drawable` tokens. Control tokens and the marks of reasoning are allowed by no text.
/// There must be a vocabulary, and it must outlive the result.
std::shared_ptr<const ConstraintVocabulary> constraint_vocabulary(const ModelTokenizer& words, int num_drawable);

/// The tokens that a grammar may name. `words` must outlive the result.
TokenNames constraint_token_names(const ModelTokenizer& words, int num_drawable);

}  // namespace octavo
