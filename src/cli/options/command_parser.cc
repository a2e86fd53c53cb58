#include "cli/options/command_parser.h"

#include <span>

#include "cli/options/arguments.h"
#include "cli/options/nearest.h"

namespace octavo::cli {
namespace {

using Kind = Invocation::Kind;

std::unexpected<Error> unknown_command(Program& program, const std::string& word) {
  if (word.starts_with('-'))
    return fail("there is no option {} before a command; octavo --help lists the commands", word);
  std::vector<std::string> names = {"help"};
  for (const Command& command : program.commands()) names.push_back(command.name());
  std::string hint = did_you_mean(word, names);
  if (hint.empty() && (word.ends_with(".gguf") || word.find(' ') != std::string::npos))
    hint = fmt::format("; did you mean octavo run \"{}\"?", word);
  return fail("there is no command '{}'{}; octavo --help lists the commands", word, hint);
}

std::unexpected<Error> unknown_option(const Command& command, const std::string& arg) {
  const std::string name = arg.substr(0, arg.find('='));
  std::string hint = did_you_mean(name, command.option_names());
  if (hint.empty() && !command.words_shown().empty()) hint = "; words that begin with - stand after --";
  return fail("there is no option {}{}", name, hint);
}

Result<Invocation> parse_command(Command& command, std::span<const std::string> args) {
  bool wants_help = false;
  command.group("General");
  command.add_flag("-h,--help", wants_help, "This text");
  OCTAVO_TRY(const std::vector<std::string> rewritten, command.rewritten(args));
  OCTAVO_TRY(const std::vector<std::string> unknown, split_arguments(rewritten, command));
  if (command.find_option("--help")->count() > 0) return Invocation{Kind::kHelp, &command};
  if (!unknown.empty()) return unknown_option(command, unknown.front());
  if (command.words_shown().empty() && !command.words().empty())
    return fail("found the word '{}', expected options alone", command.words().front());
  OCTAVO_TRY_VOID(command.take_given());
  return Invocation{Kind::kCommand, &command};
}

}  // namespace

Result<Invocation> parse_arguments(Program& program, const std::vector<std::string>& args) {
  if (args.empty()) return Invocation{};
  std::vector<std::string> rest(args.begin() + 1, args.end());
  std::string word = args.front();
  if (word == "--version") return Invocation{Kind::kVersion};
  if (word == "help" || word == "--help" || word == "-h") {
    if (rest.empty()) return Invocation{Kind::kHelp};
    word = rest.front();
    rest = {"--help"};
  }
  Command* command = program.find_command(word);
  if (command == nullptr) return unknown_command(program, word);
  auto invocation = parse_command(*command, rest);
  if (!invocation)
    return fail("{}; octavo {} --help shows what is possible", invocation.error().message, command->name());
  return invocation;
}

}  // namespace octavo::cli
