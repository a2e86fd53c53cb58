// The routes about stored responses: GET and DELETE of /v1/responses/{id}, and GET of its input_items.
#pragma once

#include "http/http_connection.h"
#include "server/routes.h"

namespace octavo::server {

/// Errors: there is no such response (404); a wrong query.
HttpResponse show_response(const RouteCall& call);
HttpResponse delete_response(const RouteCall& call);
HttpResponse list_response_input(const RouteCall& call);

}  // namespace octavo::server
