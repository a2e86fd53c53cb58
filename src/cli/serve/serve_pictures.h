// The options of `octavo serve` that say where pictures may be fetched from, and the functions that fetch them.
//
// Free functions. The context must outlive what they set; the server calls the rest (server/picture_options.h).
#pragma once

#include "cli/options/command_line.h"
#include "cli/terminal/context.h"
#include "server/server_options.h"

namespace octavo::cli {

/// Adds --image-urls and --media-path. `server` must outlive the command.
void add_picture_source_options(Command& command, server::ServerOptions& server, Context& context);

}  // namespace octavo::cli
