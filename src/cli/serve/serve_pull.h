// The option of `octavo serve` that lets clients have models fetched from the hub, and the functions that fetch them.
//
// Free functions. The context must outlive what they set; the server calls the rest (server/pull_options.h).
#pragma once

#include <memory>

#include "cli/options/command_line.h"
#include "cli/serve/pulled_models.h"
#include "cli/terminal/context.h"
#include "server/api_keys.h"
#include "server/pull_options.h"

namespace octavo::cli {

/// Adds --allow-pull and --allow-pull-keys. `pulled` gets what was fetched; all references must outlive the command.
void add_pull_options(Command& command, server::PullOptions& pull, const std::shared_ptr<PulledModels>& pulled,
                      Context& context);

/// Checks the options, where pulls are allowed. Errors: a hub may not be asked; there are keys and no option says whose
/// pulls are allowed, or the other way round; an allowed key is not among the server's.
Result<void> check_pulls(const server::PullOptions& pull, const server::ApiKeys& keys, const Context& context);

}  // namespace octavo::cli
