#include "capi/library_options.h"

#include <algorithm>
#include <array>

#include "cli/options/command_parser.h"

namespace octavo::capi {
namespace {

/// The groups of options that only a server reads.
constexpr std::array<std::string_view, 2> kOfServers = {"Network", "Limits"};
/// The groups of options that only loading reads.
constexpr std::array<std::string_view, 2> kOfModels = {"Engine", "Sampling"};
/// Whether an option is about several models: a server of one loaded model has no use for it.
bool is_of_several_models(const cli::Option& option) {
  return option.has_name("--models-dir") || option.has_name("--models-memory");
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
  for (const cli::Command::Group& group : command.groups()) {
    const bool is_refused = std::ranges::find(refused.groups, group.title) != refused.groups.end();
    for (const cli::Option* option : group.options)
      if (option->count() > 0 && (is_refused || refused.is_refused(*option)))
        return fail("{}: {}", option->name(), refused.why);
  }
  return {};
}

Result<std::unique_ptr<LibraryOptions>> LibraryOptions::read(const octavo_load_options& options) {
  if (options.num_options > 0 && options.options == nullptr)
    return fail("options: found a null pointer, expected {} words", options.num_options);
  std::unique_ptr<LibraryOptions> read(
      new LibraryOptions(options.shows_progress != 0 ? cli::ProcessStreams::kProgress : cli::ProcessStreams::kNone));
  OCTAVO_TRY_VOID(read->parse({options.options, options.num_options},
                              {.groups = kOfServers,
                               .is_refused = [](const cli::Option& option) { return option.is_of_servers(); },
                               .why = "it is about servers, expected one about a model: this loads one"}));
  return read;
}

Result<std::unique_ptr<LibraryOptions>> LibraryOptions::read_of_server(std::span<const char* const> words) {
  std::unique_ptr<LibraryOptions> read(new LibraryOptions(cli::ProcessStreams::kNone));
  read->serve_.server.log.file = "off";
  OCTAVO_TRY_VOID(read->parse(words, {.groups = kOfModels,
                                      .is_refused = is_of_several_models,
                                      .why = "it is about models, expected one about a server: this one's is loaded"}));
  return read;
}

}  // namespace octavo::capi
