#include "cli/cli.h"

#include <algorithm>
#include <filesystem>
#include <ostream>
#include <string>
#include <vector>

#include "cli/commands.h"
#include "cli/llama_server.h"
#include "cli/options/command_help.h"
#include "cli/options/command_parser.h"
#include "octavo/version.h"

namespace octavo::cli {
namespace {

int report(const Error& error, int code, Context& context) {
  context.err << "octavo: " << error.message << '\n' << std::flush;
  return code;
}

}  // namespace

int run_cli(int argc, const char* const* argv, Context& context) {
  const std::vector<std::string> args(argv + std::min(argc, 1), argv + argc);
  if (argc > 0 && std::filesystem::path(argv[0]).filename() == kLlamaServerName) return run_llama_server(args, context);
  Program program;
  add_run_command(program, context);
  add_chat_command(program, context);
  add_serve_command(program, context);
  add_embed_command(program, context);
  add_rerank_command(program, context);
  add_pull_command(program, context);
  add_list_command(program, context);
  add_rm_command(program, context);
  add_kv_command(program, context);
  add_convert_command(program, context);
  add_quantize_command(program, context);
  add_info_command(program, context);
  add_tokenize_command(program, context);
  add_logits_command(program, context);
  add_bench_command(program, context);
  const Result<Invocation> invocation = parse_arguments(program, args);
  if (!invocation) return report(invocation.error(), kWrongUsage, context);
  switch (invocation->kind) {
    case Invocation::Kind::kNothing: context.err << help_of(program) << std::flush; return kWrongUsage;
    case Invocation::Kind::kVersion: context.out << "octavo " OCTAVO_VERSION_STRING << '\n' << std::flush; return kDone;
    case Invocation::Kind::kHelp:
      context.out << (invocation->command == nullptr ? help_of(program) : help_of(*invocation->command)) << std::flush;
      return kDone;
    case Invocation::Kind::kCommand: break;
  }
  const Result<int> code = invocation->command->perform();
  return code ? *code : report(code.error(), kFailed, context);
}

}  // namespace octavo::cli
