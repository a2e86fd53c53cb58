// How a request for vectors or scores of texts becomes what the engine is asked for: the texts become tokens, and all
// is checked against what the model makes, its context and the bounds of a call.
//
// A free function without state; any thread. It takes as long as tokenizing does.
#pragma once

#include "api/call/api_request.h"
#include "api/call/completion.h"

namespace octavo {

/// Errors name the field: the model does not make what is asked for (400, unsupported_model); a text is empty or has no
/// room; too many tokens in all; an answer that is too large to hold.
ApiResult<CompletionCall> prepare_vectors(ApiRequest request, const ModelText& words, const ServedModel& model);

/// The error (400) of an encoder that is asked for an answer in words; nothing where the model generates.
std::optional<ApiError> writes_nothing(const ModelInfo& info, std::string_view model);

// Whether a model answers calls of one kind; see Serves.

/// Whether the model has a next token.
bool writes_text(const ModelInfo& info, const RequestPolicy& policy);
/// Whether the model ranks documents.
bool ranks(const ModelInfo& info, const RequestPolicy& policy);
/// Whether the model gives pairs of texts scores, by a ranking head or by comparing vectors.
bool scores_pairs(const ModelInfo& info, const RequestPolicy& policy);
/// Whether the model makes vectors for any client: an encoder does, any model does where the server was started so, and
/// a model whose pooling makes scores does not.
bool makes_vectors(const ModelInfo& info, const RequestPolicy& policy);

}  // namespace octavo
