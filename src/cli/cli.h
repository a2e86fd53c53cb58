// The command line: arguments to exit code. Owned by main(); one thread.
#pragma once

#include "cli/terminal/context.h"

namespace octavo::cli {

/// Runs the program. Errors go to context.err, one line each, beginning with "octavo: ". Gives the exit code.
int run_cli(int argc, const char* const* argv, Context& context);

}  // namespace octavo::cli
