// The options of `octavo serve`: the rows by which the command line, a file of options and that file's sections about
// models are read.
//
// Used by the thread that reads the command line, and by one that reads the file's sections again.
#pragma once

#include "cli/options/command_line.h"
#include "cli/serve/serve_events.h"
#include "cli/serve/serve_models.h"
#include "cli/terminal/context.h"
#include "server/server_options.h"

namespace octavo::cli {

struct ServeOptions {
  server::ServerOptions server;
  ModelsOptions models;
  EventsFlags events = {};
  bool has_body_size = false;  // --max-body-size is given
};

/// `options` and the context must outlive the command.
void add_serve_options(Command& command, ServeOptions& options, Context& context);

}  // namespace octavo::cli
