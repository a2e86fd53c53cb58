// The options of `octavo serve` about answers to requests that say nothing of the kind.
//
// Used by the thread that reads the command line.
#pragma once

#include "cli/command_line.h"
#include "server/service.h"

namespace octavo::cli {

/// --max-tokens, --reasoning-budget, --reasoning-format, --chat-template-kwargs, --reasoning-effort and --seed.
/// `service` outlives the command.
void add_answer_default_options(Command& command, server::ServiceOptions& service);

}  // namespace octavo::cli
