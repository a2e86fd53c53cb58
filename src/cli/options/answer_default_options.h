// The options of `octavo serve` about answers to requests that say nothing of the kind.
//
// Used by the thread that reads the command line.
#pragma once

#include "api/call/completion.h"
#include "cli/options/command_line.h"

namespace octavo::cli {

/// --max-tokens, --reasoning-budget, --reasoning-format, --chat-template-kwargs, --reasoning-effort and --seed.
/// `models` outlives the command.
void add_answer_default_options(Command& command, RequestPolicy& requests);

}  // namespace octavo::cli
