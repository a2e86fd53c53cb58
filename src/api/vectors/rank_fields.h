// The fields of calls that rank documents or score pairs of texts: Jina's and Cohere's, those of Hugging Face's server
// (TEI) on the same path, and vLLM's.
//
// Constants; any thread.
#pragma once

#include "api/call/api_field.h"

namespace octavo {

/// POST /v1/rerank and its other names. Documents under the name `texts` ask for TEI's answer.
ApiFields rerank_fields();
ApiResult<ApiRequest> read_rerank(const boost::json::object& body, const ApiContext& context);

/// POST /v1/score.
ApiFields score_fields();
ApiResult<ApiRequest> read_score(const boost::json::object& body, const ApiContext& context);

}  // namespace octavo
