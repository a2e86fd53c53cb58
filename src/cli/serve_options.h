// The options of `octavo serve`: its rows, which the command line, a file of options and that file's sections about one
// model read.
//
// Used by the thread that reads the command line, and by one that reads the file's sections anew.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "cli/command_line.h"
#include "cli/context.h"
#include "cli/serve_models.h"
#include "cli/serve_pull.h"
#include "octavo/engine.h"
#include "server/server.h"

namespace octavo::cli {

struct ServeOptions {
  EngineOptions engine;
  server::ServerOptions server;
  ModelsOptions models;
  AllowedPulls pulls;
  std::string key_file;
  std::string keys;  // between commas
  std::vector<std::string> trusted_proxies;
  std::string access_log = "-";
  int port = 8080;
  int max_connections = 4096;
  int max_connections_per_address = 0;
  int max_json_depth = 32;
  std::chrono::milliseconds idle_release{600'000};
  int max_queued_tokens = static_cast<int>(EngineOptions{}.max_queued_tokens);
  std::size_t max_received_bytes = 0;  // 0: not given
};

/// `options` and the context outlive the command.
void add_serve_options(Command& command, ServeOptions& options, Context& context);

}  // namespace octavo::cli
