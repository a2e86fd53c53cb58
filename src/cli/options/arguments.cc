#include "cli/options/arguments.h"

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <algorithm>

namespace octavo::cli {
namespace {

/// The arguments in a form in which "--host=" has an empty value; CLI11 would take the next argument as its value.
std::vector<std::string> with_empty_values(std::span<const std::string> args, Command& command) {
  std::vector<std::string> out;
  for (const std::string& arg : args) {
    const Option* option = arg.ends_with('=') ? command.find_option(arg.substr(0, arg.size() - 1)) : nullptr;
    if (option != nullptr && !option->is_flag()) {
      out.insert(out.end(), {arg.substr(0, arg.size() - 1), ""});
    } else {
      out.push_back(arg);
    }
  }
  return out;
}

std::string joined_names(const Option& option) {
  std::string text;
  for (const std::string& name : option.names()) text += (text.empty() ? "" : ",") + name;
  return text;
}

}  // namespace

Result<std::vector<std::string>> split_arguments(std::span<const std::string> args, Command& command) {
  CLI::App app;
  app.set_help_flag();
  app.allow_extras();
  const CLI::callback_t accept = [](const CLI::results_t&) { return true; };
  std::vector<std::pair<Option*, const CLI::Option*>> rows;
  for (Option& option : command.options()) {
    CLI::Option* row = app.add_option(joined_names(option), accept, "");
    // A flag takes no value but one after "="; where values are given several times, none is dropped.
    row->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)->expected(option.is_flag() ? 0 : 1);
    rows.emplace_back(&option, row);
  }
  std::vector<std::string> reversed = with_empty_values(args, command);
  std::ranges::reverse(reversed);
  try {
    app.parse(reversed);
  } catch (const CLI::ArgumentMismatch& error) {
    const std::string message = error.what();
    const Option* option = command.find_option(message.substr(0, message.find(':')));
    return fail("{}: found no value, expected {}", option == nullptr ? message : option->name(),
                option == nullptr ? "one" : option->type());
  } catch (const CLI::Error& error) {
    return fail("{}", error.what());
  }
  for (const auto& [option, row] : rows)
    for (const std::string& text : row->results()) option->give(text);
  std::vector<std::string> unknown;
  bool only_words = false;
  for (const std::string& rest : app.remaining()) {
    if (only_words || rest.size() < 2 || rest[0] != '-') {
      command.words().push_back(rest);
    } else if (rest == "--") {
      only_words = true;
    } else {
      unknown.push_back(rest);
    }
  }
  return unknown;
}

Result<std::vector<FileEntry>> read_options_file(const std::string& path) {
  std::vector<FileEntry> entries;
  try {
    for (const CLI::ConfigItem& item : CLI::ConfigTOML().from_file(path)) {
      if (item.name == "++" || item.name == "--") continue;  // a section begins or ends
      const std::string name = item.fullname();
      const auto same = std::ranges::find(entries, name, &FileEntry::name);
      FileEntry& entry = same == entries.end() ? entries.emplace_back(FileEntry{.name = name, .values = {}}) : *same;
      entry.values.insert(entry.values.end(), item.inputs.begin(), item.inputs.end());
    }
  } catch (const CLI::Error& error) {
    return fail("{}", error.what());
  }
  return entries;
}

}  // namespace octavo::cli
