// Checks whether the requests of a call could ever wait in the server's queue.
//
// Free function without state; any thread.
#pragma once

#include "api/call/completion.h"
#include "server/server_options.h"

namespace octavo::server {

/// Error: the requests of the call could not all wait at the same time, even in an empty queue, so that trying again
/// would never help. Requests of a call for vectors wait a few at a time.
ApiResult<void> check_queue(const CompletionCall& call, const ServerOptions& options);

}  // namespace octavo::server
