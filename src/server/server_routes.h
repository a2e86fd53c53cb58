// The routes about the server itself: whether it answers, what it is and does, and its page.
//
// Free functions without state; the I/O thread.
#pragma once

#include "http/http_connection.h"
#include "server/routes.h"

namespace octavo::server {

HttpResponse show_chat_page(const RouteCall& call);
HttpResponse show_health(const RouteCall& call);
/// Whether a request would be served now; if not, the reason.
HttpResponse show_readiness(const RouteCall& call);
HttpResponse show_metrics(const RouteCall& call);
HttpResponse show_version(const RouteCall& call);
HttpResponse show_ollama_version(const RouteCall& call);
HttpResponse show_description(const RouteCall& call);
/// The answers that are being made; where the query names a model, those of this model alone.
HttpResponse show_slots(const RouteCall& call);

}  // namespace octavo::server
