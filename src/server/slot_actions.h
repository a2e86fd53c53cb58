// POST /slots/{id}?action=save, restore or erase of llama.cpp's server, for programs that save the cache of a slot by
// hand. Octavo keeps prefixes on disk and finds them again by itself (docs/kv_store.md), so that nothing is left to do;
// the answer names the directory. https://github.com/ggml-org/llama.cpp/blob/master/tools/server/README.md
#pragma once

#include "http/http_connection.h"
#include "server/routes.h"

namespace octavo::server {

HttpResponse act_on_slot(const RouteCall& call);

}  // namespace octavo::server
