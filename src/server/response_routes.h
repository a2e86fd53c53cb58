// Responses that are kept, asked for again: GET and DELETE of /v1/responses/{id}, and GET of its input_items.
#pragma once

#include "http/http_connection.h"
#include "server/routes.h"

namespace octavo::server {

/// Errors: 404; a query that is none.
HttpResponse show_response(const RouteCall& call);
HttpResponse delete_response(const RouteCall& call);
HttpResponse list_response_input(const RouteCall& call);

}  // namespace octavo::server
