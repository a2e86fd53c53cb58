#include "capi/library_options.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "cli/command_parser.h"

namespace octavo::capi {
namespace {

/// The groups of the options that only a server reads.
constexpr std::array<std::string_view, 2> kOfServers = {"Network", "Limits"};
/// The groups of those that only loading reads.
constexpr std::array<std::string_view, 2> kOfModels = {"Engine", "Sampling"};
/// Options of other groups that only a server reads.
constexpr std::array<std::string_view, 14> kServersToo = {
    "--served-model-name", "--no-ui",         "--no-slots",     "--shared-cache", "--model-turn",
    "--model-wait",        "--idle-unload",   "--allow-unload", "--allow-pull",   "--keepalive-interval",
    "--drain-timeout",     "--stall-timeout", "--access-log",   "--log-prompts"};

bool has(std::span<const std::string_view> names, std::string_view name) {
  return std::ranges::find(names, name) != names.end();
}

}  // namespace

Result<void> LibraryOptions::parse(std::span<const char* const> words, const RefusedOptions& refused) {
  std::vector<std::string> args = {"serve"};
  for (const char* const word : words) {
    if (word == nullptr) return fail("options: found a null pointer, expected a word");
    args.emplace_back(word);
  }
  cli::Program program;
  cli::Command& command = program.add_command("serve", "");
  cli::add_serve_options(command, serve_, process_.context());
  OCTAVO_TRY(const cli::Invocation invocation, cli::parse_arguments(program, args));
  if (invocation.kind != cli::Invocation::Kind::kCommand) return fail("options: found --help, expected options");
  if (!serve_.models.named.empty())
    return fail("options: found a model, '{}', expected options alone", serve_.models.named.front());
  for (const cli::Command::Group& group : command.groups())
    for (const cli::Option* option : group.options)
      if (option->count() > 0 && (has(refused.groups, group.title) || has(refused.names, option->name())))
        return fail("{}: {}", option->name(), refused.why);
  return {};
}

Result<std::unique_ptr<LibraryOptions>> LibraryOptions::read(const octavo_load_options& options) {
  if (options.num_options > 0 && options.options == nullptr)
    return fail("options: found a null pointer, expected {} words", options.num_options);
  std::unique_ptr<LibraryOptions> read(
      new LibraryOptions(options.shows_progress != 0 ? cli::ProcessStreams::kProgress : cli::ProcessStreams::kNone));
  OCTAVO_TRY_VOID(read->parse({options.options, options.num_options},
                              {.groups = kOfServers,
                               .names = kServersToo,
                               .why = "it is about a server, expected one about a model: octavo_serve() takes it"}));
  return read;
}

Result<std::unique_ptr<LibraryOptions>> LibraryOptions::read_of_server(std::span<const char* const> words) {
  std::unique_ptr<LibraryOptions> read(new LibraryOptions(cli::ProcessStreams::kNone));
  read->serve_.server.log.file = "off";
  OCTAVO_TRY_VOID(
      read->parse(words, {.groups = kOfModels, .why = "it is about a model, which is loaded: octavo_load() takes it"}));
  return read;
}

}  // namespace octavo::capi
