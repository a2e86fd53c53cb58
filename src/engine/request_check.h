// The checks of a request before any memory is given to it. Any thread may call them.
#pragma once

#include "base/error.h"
#include "engine/text/model_tokenizer.h"
#include "engine/vector_rules.h"
#include "octavo/engine.h"

namespace octavo {

/// The limits that an engine sets a request.
struct RequestLimits {
  int max_context = 0;   // tokens of a prompt and its answer
  int vocab_size = 0;    // ids that the model knows
  int num_drawable = 0;  // of these, the ones that may be drawn
  int max_choices = 0;   // sequences that advance in one step
  int max_pinned = 0;    // tokens of a prompt that can be pinned
  VectorRules vectors = {};
  std::int64_t max_picture_tokens = 0;  // of one picture; 0: the model reads texts alone
  TokenId placeholder = -1;             // that stands for a picture's rows
  const ModelTokenizer& words;          // without them no text can end an answer
};

/// The number of tokens that a choice generates at most. Errors name the field of the request, what was found and what
/// was expected.
Result<int> check_request(const Request& request, const RequestLimits& limits);

}  // namespace octavo
