// The fields of Cohere's calls for vectors: those of POST /v1/embed, and of /v2/embed, which also has lists of
// contents, a length, and a number of floats.
//
// Constants; any thread.
#pragma once

#include "api/call/api_field.h"

namespace octavo {

ApiFields cohere_embed_fields();
ApiResult<ApiRequest> read_cohere_embed(const boost::json::object& body, const ApiContext& context);

/// The name of a kind of vector, in `embedding_types` and in the answer.
std::string_view vector_kind_name(VectorKind kind);

}  // namespace octavo
