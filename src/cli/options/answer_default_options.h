// The options of `octavo serve` for answers to requests that leave them out.
//
// Used by the thread that reads the command line.
#pragma once

#include "api/call/completion.h"
#include "cli/options/command_line.h"

namespace octavo::cli {

/// Adds --max-tokens, --reasoning-budget, --reasoning-format, --chat-template-kwargs, --reasoning-effort and --seed.
/// `requests` must outlive the command.
void add_answer_default_options(Command& command, RequestPolicy& requests);

}  // namespace octavo::cli
