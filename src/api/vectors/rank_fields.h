// The fields of calls that rank documents or score pairs of texts: those of Jina and Cohere, those of Hugging Face's
// server (TEI) on the same path, and those of vLLM.
//
// Constants; any thread.
#pragma once

#include "api/call/api_field.h"

namespace octavo {

/// The fields of POST /v1/rerank and its other names. A body with `texts` for documents gets TEI's answer.
ApiFields rerank_fields();
ApiResult<ApiRequest> read_rerank(const boost::json::object& body, const ApiContext& context);

/// The fields of POST /v1/score.
ApiFields score_fields();
ApiResult<ApiRequest> read_score(const boost::json::object& body, const ApiContext& context);

}  // namespace octavo
