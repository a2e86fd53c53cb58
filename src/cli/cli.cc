#include "cli/cli.h"

#include <new>
#include <ostream>

#include "cli/commands.h"

namespace octavo::cli {
namespace {

/// The command that the arguments chose, or the program itself.
const CLI::App& chosen(const CLI::App& app) {
  const auto commands = app.get_subcommands();
  return commands.empty() ? app : *commands.front();
}

int report_usage(const CLI::App& app, const CLI::ParseError& error, Context& context) {
  const CLI::App& command = chosen(app);
  const std::string name = &command == &app ? "octavo" : "octavo " + command.get_name();
  context.err << "octavo: " << error.what() << "; " << name << " --help shows what is possible" << '\n' << std::flush;
  return kWrongUsage;
}

int perform(const Action& action, Context& context) {
  try {
    const Result<int> code = action();
    if (code) return *code;
    context.err << "octavo: " << code.error().message << '\n' << std::flush;
  } catch (const std::bad_alloc&) {
    context.err << "octavo: out of memory" << '\n' << std::flush;
  } catch (const std::exception& error) {
    context.err << "octavo: " << error.what() << '\n' << std::flush;
  }
  return kFailed;
}

}  // namespace

int run_cli(int argc, const char* const* argv, Context& context) {
  CLI::App app("Runs GGUF language models on the CPU.", "octavo");
  app.footer(
      "Each command has its own help: octavo run --help\n"
      "Exit codes: 0 done, 1 failed, 2 wrong usage, 130 ended by Ctrl-C\n\n"
      "Examples:\n"
      "  octavo run -p \"Why is the sky blue?\"\n"
      "  octavo chat -m model.gguf\n"
      "  octavo serve -m model.gguf --port 8080\n"
      "  octavo info model.gguf --context 8192");
  app.set_version_flag("--version", "octavo " OCTAVO_VERSION, "Print the version");
  app.require_subcommand(0, 1);
  Action action;
  add_run_command(app, context, action);
  add_chat_command(app, context, action);
  add_serve_command(app, context, action);
  add_bench_command(app, context, action);
  add_info_command(app, context, action);
  add_tokenize_command(app, context, action);
  add_logits_command(app, context, action);
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    context.out << app.help() << std::flush;  // of the command, if one was chosen
    return kDone;
  } catch (const CLI::CallForVersion& version) {
    context.out << version.what() << '\n' << std::flush;
    return kDone;
  } catch (const CLI::ParseError& error) {
    return report_usage(app, error, context);
  }
  if (!action) {
    context.err << app.help() << std::flush;
    return kWrongUsage;
  }
  return perform(action, context);
}

}  // namespace octavo::cli
