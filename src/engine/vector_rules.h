// Rules of an engine's model for vectors, by which a request's vectors are checked and made.
//
// A value, immutable; any thread.
#pragma once

#include "base/error.h"
#include "octavo/request.h"

namespace octavo {

struct VectorRules {
  bool is_encoder = false;           // requests generate nothing, and each is computed in one step
  Pooling pooling = Pooling::kLast;  // of requests that name none
  Pooling of_head = Pooling::kLast;  // of the row that the ranking head reads
  bool has_scores = false;           // there is a ranking head
  int width = 0;                     // of a row
  int num_token_types = 1;           // parts of a pair that are told apart

  /// Error: the field of the request, what was found and what was expected.
  Result<void> check(const Request& request) const;
  Pooling pooling_of(const EmbeddingParams& params) const { return params.pooling.value_or(pooling); }
};

}  // namespace octavo
