// Options of a command from a file, by the same names as on the command line.
#pragma once

#include "cli/command_line.h"

namespace octavo::cli {

/// --config FILE: lines such as `port = 8080`, `model = "model.gguf"`, `no-repack = true`; # begins a comment. The
/// command line goes before it. A name that the command does not have is wrong usage, like a wrong value. Add it after
/// the command's other options.
void add_config_option(Command& command);

}  // namespace octavo::cli
