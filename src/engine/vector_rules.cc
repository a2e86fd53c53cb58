#include "engine/vector_rules.h"

#include <algorithm>
#include <utility>

namespace octavo {

Result<void> VectorRules::check(const Request& request) const {
  const EmbeddingParams& embedding = request.embedding;
  const bool makes_vector = embedding.on_rows != nullptr;
  if (is_encoder && (!makes_vector || request.max_tokens != -1 || request.on_prompt_logits))
    return fail(
        "max_tokens: found a request for tokens, expected one for a vector: this model is an encoder, which "
        "writes no text");
  if (embedding.pooling && std::to_underlying(*embedding.pooling) > std::to_underlying(Pooling::kRank))
    return fail("embedding.pooling: found {}, expected 0 to {}", std::to_underlying(*embedding.pooling),
                std::to_underlying(Pooling::kRank));
  if (makes_vector && (request.max_tokens != -1 || request.on_prompt_logits))
    return fail("max_tokens: found {} beside embedding.on_rows, expected -1 (generate nothing) and no logits",
                request.max_tokens);
  if (makes_vector && pooling_of(embedding) == Pooling::kRank && !has_scores)
    return fail("embedding.pooling: found rank, expected another: this model has no ranking head");
  if (!request.token_types.empty() && request.token_types.size() != request.tokens.size())
    return fail("token_types: found {}, expected one for each of the {} tokens", request.token_types.size(),
                request.tokens.size());
  const auto largest = std::ranges::max_element(request.token_types);
  if (largest != request.token_types.end() && *largest >= num_token_types)
    return fail("token_types: found {}, expected 0 to {}", *largest, num_token_types - 1);
  return {};
}

}  // namespace octavo
