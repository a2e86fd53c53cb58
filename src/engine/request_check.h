// The checks of a request before any memory is taken for it. Any thread may call them.
#pragma once

#include "base/error.h"
#include "engine/text/model_tokenizer.h"
#include "engine/vector_rules.h"
#include "octavo/engine.h"

namespace octavo {

/// The limits that an engine sets for requests.
struct RequestLimits {
  int max_context = 0;   // tokens of a prompt and its answer together
  int vocab_size = 0;    // the number of ids that the model knows
  int num_drawable = 0;  // how many of the first ids may be drawn
  int max_choices = 0;   // the most sequences that advance in one step
  int max_pinned = 0;    // the most tokens of a prompt that can be pinned
  VectorRules vectors = {};
  std::int64_t max_picture_tokens = 0;  // the most tokens of a picture; 0: the model reads only texts
  std::int64_t max_joint_tokens = 0;    // the most rows of a picture that see each other; 0: they do not
  TokenId placeholder = -1;             // the token that stands for a row of a picture
  const ModelTokenizer& words;          // without a vocabulary no text can end an answer
};

/// Checks a request; the result is the most tokens that a choice generates. Errors name the field of the request, what
/// was found and what was expected.
Result<int> check_request(const Request& request, const RequestLimits& limits);

}  // namespace octavo
