// Responses that are kept, asked for again: GET and DELETE of /v1/responses/{id}, and GET of its input_items.
#pragma once

#include <string_view>

#include "api/call/api_error.h"
#include "api/responses/response_store.h"
#include "server/routes.h"

namespace octavo::server {

/// The body of the answer. `target`: the request's, with its query. Errors: 404; a query that is none.
ApiResult<std::string> answer_stored_response(const RouteMatch& match, std::string_view target,
                                              const OwnResponses& responses);

}  // namespace octavo::server
