// The program under the name of llama.cpp's server: it takes that one's command line, says what the programs that start
// it wait for, and serves. Owned by run_cli(); one thread.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cli/options/command_line.h"
#include "cli/terminal/context.h"

namespace octavo::cli {

inline constexpr std::string_view kLlamaServerName = "llama-server";

/// `args`: without the program's name. Gives the exit code, which is 1 for all that goes wrong, as it is there.
int run_llama_server(const std::vector<std::string>& args, Context& context);

/// Command::rewrite() of `octavo serve`, which takes llama.cpp's arguments too where its own options have other names.
Result<std::vector<std::string>> rewrite_llama_arguments(std::span<const std::string> args, Command& serve,
                                                         Context& context);

}  // namespace octavo::cli
