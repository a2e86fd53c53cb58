// The routes that routers ask before they choose a replica: what the server and a model are, and how much they have to
// do. docs/server/routers.md has them.
//
// Free functions without state; the I/O thread.
#pragma once

#include "http/http_connection.h"
#include "server/routes.h"

namespace octavo::server {

/// GET /server_info and /get_server_info: settings, under SGLang's names.
HttpResponse show_server_info(const RouteCall& call);
/// GET /model_info and /get_model_info.
HttpResponse show_model_info(const RouteCall& call);
/// GET /v1/loads: how much a model has to do; `prompt_tokens` in the query is the length of the prompt whose wait is
/// predicted.
HttpResponse show_loads(const RouteCall& call);

}  // namespace octavo::server
