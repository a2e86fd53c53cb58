// The program under the name of llama.cpp's server: it takes that server's command line, prints what programs that
// start it wait for, and serves. Owned by run_cli(); one thread.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cli/options/command_line.h"
#include "cli/terminal/context.h"

namespace octavo::cli {

inline constexpr std::string_view kLlamaServerName = "llama-server";

/// Runs it and gives the exit code, which is 1 for every error, as llama-server's. `args`: without the program's name.
int run_llama_server(const std::vector<std::string>& args, Context& context);

/// For Command::rewrite() of `octavo serve`: it takes llama.cpp's arguments, too, where they do not have the names of
/// its own options.
Result<std::vector<std::string>> rewrite_llama_arguments(std::span<const std::string> args, Command& serve,
                                                         Context& context);

}  // namespace octavo::cli
