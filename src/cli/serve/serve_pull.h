// The option of `octavo serve` that lets clients have models fetched from the hub, and the way from its requests there.
//
// Free functions. The context must outlive what they set; the rest is called by the server (server/pull_options.h).
#pragma once

#include <memory>

#include "cli/options/command_line.h"
#include "cli/serve/pulled_models.h"
#include "cli/terminal/context.h"
#include "server/api_keys.h"
#include "server/pull_options.h"

namespace octavo::cli {

/// --allow-pull and --allow-pull-keys. `pulled` notes what was fetched; all outlive the command.
void add_pull_options(Command& command, server::PullOptions& pull, const std::shared_ptr<PulledModels>& pulled,
                      Context& context);

/// Errors, where pulls are allowed: nothing may be asked of a hub; there are keys and nobody says whose pulls are
/// allowed, or the other way round; a key that is to be allowed is none of these.
Result<void> check_pulls(const server::PullOptions& pull, const server::ApiKeys& keys, const Context& context);

}  // namespace octavo::cli
