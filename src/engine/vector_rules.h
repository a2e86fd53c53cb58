// The rules of an engine's model for vectors: a request's vectors are checked and made by them.
//
// A value, immutable; any thread.
#pragma once

#include "base/error.h"
#include "octavo/request.h"

namespace octavo {

struct VectorRules {
  bool is_encoder = false;           // requests generate nothing, and each is computed in one step
  Pooling pooling = Pooling::kLast;  // for requests that name none
  Pooling of_head = Pooling::kLast;  // the pooling that makes the row that the ranking head reads
  bool has_scores = false;           // the model has a ranking head
  int width = 0;                     // the floats of a row
  int num_token_types = 1;           // how many parts of a pair are told apart

  /// Checks a request. Errors name its field, what was found and what was expected.
  Result<void> check(const Request& request) const;
  Pooling pooling_of(const EmbeddingParams& params) const { return params.pooling.value_or(pooling); }
};

}  // namespace octavo
