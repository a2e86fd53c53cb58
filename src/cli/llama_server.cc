#include "cli/llama_server.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <ostream>
#include <utility>

#include "base/to_size.h"
#include "cli/commands.h"
#include "cli/llama/llama_arguments.h"
#include "cli/llama/llama_translator.h"
#include "cli/options/command_parser.h"
#include "model/config.h"
#include "octavo/device.h"
#include "octavo/version.h"
#include "source/open_model.h"

namespace octavo::cli {
namespace {

/// Prints the devices in the form of llama-server.
int print_devices(std::ostream& out) {
  constexpr std::uint64_t kMebibyte = 1U << 20;
  const std::vector<DeviceInfo> devices = list_devices();
  out << "Available devices:\n" << (devices.empty() ? "  (none)\n" : "");
  for (const DeviceInfo& device : devices)
    out << fmt::format("  {}: {} ({} MiB, {} MiB free)\n", device.id, device.name, device.total_bytes / kMebibyte,
                       device.free_bytes / kMebibyte);
  out << std::flush;
  return kDone;
}

using Action = LlamaTranslation::Action;

/// Prints an error. Programs that start llama-server look for "error:" to tell their users why it ended.
int report(const Error& error, Context& context) {
  context.err << "octavo: error: " << error.message << '\n' << std::flush;
  return kFailed;
}

/// Cuts a context that is longer than the model was trained for, as llama-server does, which gives no error.
Result<void> cut_context(EngineOptions& options, Context& context) {
  if (options.max_context == 0) return {};
  OCTAVO_TRY(const auto source, open_model(options.model_path, options.stop));
  OCTAVO_TRY(const ModelConfig config, ModelConfig::load(*source));
  if (options.max_context <= config.context_length) return {};
  context.err << fmt::format("octavo: a context of {} tokens is cut to the {} that the model was trained for\n",
                             options.max_context, config.context_length)
              << std::flush;
  options.max_context = config.context_length;
  return {};
}

double mib(std::uint64_t bytes) { return static_cast<double>(bytes) / (1 << 20); }

/// Prints the sizes of memory. ollama adds up lines of this form for its list of models in memory. KV memory beyond the
/// contexts of `num_sequences` is a cache, which gives way.
void say_sizes(const ModelInfo& info, int num_sequences, Context& context) {
  const std::uint64_t contexts = to_size(info.max_context) * to_size(num_sequences) * info.kv_bytes_per_token;
  context.err << fmt::format(
                     "octavo: CPU model buffer size = {:.2f} MiB\n"
                     "octavo: CPU KV buffer size = {:.2f} MiB\n",
                     mib(info.weight_bytes), mib(std::min(info.kv_arena_bytes, contexts)))
              << std::flush;
}

void watch_loading(Context& context) {
  context.load_engine = [load = context.load_engine,
                         &context](EngineOptions options) -> Result<std::unique_ptr<Engine>> {
    OCTAVO_TRY_VOID(cut_context(options, context));
    const bool is_given =
        options.max_sequences != EngineOptions{}.max_sequences;  // set by -np; else one sequence may have all of -c
    const int num_sequences = is_given ? options.max_sequences : 1;
    OCTAVO_TRY(auto engine, load(std::move(options)));
    say_sizes(engine->info(), num_sequences, context);
    return engine;
  };
}

void say_notes(const LlamaTranslation& translation, Context& context) {
  for (const std::string& note : translation.notes) context.err << "octavo: " << note << '\n';
  context.err << std::flush;
}

Result<int> serve(Program& program, const LlamaTranslation& translation, Context& context) {
  say_notes(translation, context);
  // Programs that look for graphics cards stop it at this line.
  context.err << "octavo: system_info: octavo " OCTAVO_VERSION_STRING ", CPUs alone\n" << std::flush;
  std::vector<std::string> args = {"serve"};
  // With a single model, llama-server ignores the name in a request, and programs send names of their own.
  const auto names_folder = [](const std::string& arg) { return arg.starts_with("--models-dir"); };
  if (std::ranges::none_of(translation.args, names_folder)) args.emplace_back("--served-model-name=*");
  args.insert(args.end(), translation.args.begin(), translation.args.end());
  OCTAVO_TRY(const Invocation invocation, parse_arguments(program, args));
  watch_loading(context);
  return invocation.command->perform();
}

Result<int> run(const std::vector<std::string>& args, Context& context) {
  Program program;
  add_serve_command(program, context, Dialect::kLlamaServer);
  Command& command = program.commands().front();
  OCTAVO_TRY(const LlamaCommandLine line,
             read_llama_arguments(args, command, Dialect::kLlamaServer, context.environment));
  OCTAVO_TRY(const LlamaTranslation translation, translate_llama_arguments(line));
  switch (translation.action) {
    case Action::kHelp: context.out << llama_arguments_help() << std::flush; return kDone;
    case Action::kVersion: context.out << "version: " OCTAVO_VERSION_STRING " (octavo)\n" << std::flush; return kDone;
    case Action::kListDevices: return print_devices(context.out);
    case Action::kServe: break;
  }
  return serve(program, translation, context);
}

}  // namespace

int run_llama_server(const std::vector<std::string>& args, Context& context) {
  const Result<int> code = run(args, context);
  return code ? *code : report(code.error(), context);
}

Result<std::vector<std::string>> rewrite_llama_arguments(std::span<const std::string> args, Command& serve,
                                                         Context& context) {
  OCTAVO_TRY(const LlamaCommandLine line, read_llama_arguments(args, serve, Dialect::kOctavo, context.environment));
  OCTAVO_TRY(LlamaTranslation translation, translate_llama_arguments(line));
  say_notes(translation, context);
  return std::move(translation.args);
}

}  // namespace octavo::cli
