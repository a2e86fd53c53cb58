// The commands, each in a file of its own: adds itself to the program and, once chosen by the arguments, sets `action`.
// Everything given by reference must live until the action has run.
#pragma once

#include <CLI/CLI.hpp>

#include "cli/context.h"

namespace octavo::cli {

void add_run_command(CLI::App& app, Context& context, Action& action);
void add_chat_command(CLI::App& app, Context& context, Action& action);
void add_serve_command(CLI::App& app, Context& context, Action& action);
void add_bench_command(CLI::App& app, Context& context, Action& action);
void add_info_command(CLI::App& app, Context& context, Action& action);
void add_tokenize_command(CLI::App& app, Context& context, Action& action);
void add_logits_command(CLI::App& app, Context& context, Action& action);

}  // namespace octavo::cli
