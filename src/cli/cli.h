// The command line: from arguments to an exit code. Owned by main(); one thread.
#pragma once

#include "cli/terminal/context.h"

namespace octavo::cli {

/// Runs the program and gives the exit code. Errors go to context.err, one line each, beginning with "octavo: ".
int run_cli(int argc, const char* const* argv, Context& context);

}  // namespace octavo::cli
