#include "cli/config_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <vector>

#include "cli/options.h"

namespace octavo::cli {
namespace {

// CLI11 reads configuration files for a program as a whole, not for one of its commands.
void apply(CLI::App& command, const std::string& path, const CLI::ConfigItem& item) {
  const auto wrong = [&](const std::string& message) {
    return CLI::ValidationError("--config", fmt::format("{}: {}: {}", path, item.fullname(), message));
  };
  CLI::Option* option = item.parents.empty() ? command.get_option_no_throw("--" + item.name) : nullptr;
  if (option == nullptr || item.name == "config" || item.name == "help") throw wrong("there is no such option");
  // Wrong in the file, also where the command line goes first.
  if (const int most = std::max(option->get_items_expected_max(), 1); std::ssize(item.inputs) > most)
    throw wrong(fmt::format("found {} values, expected {}", item.inputs.size(), most));
  if (option->count() > 0) return;  // the command line's
  try {
    if (option->get_expected_max() == 0) {
      option->add_result(option->get_flag_value(item.name, CLI::ConfigTOML().to_flag(item)));
    } else {
      option->add_result(item.inputs);
    }
    option->run_callback();
  } catch (const CLI::ParseError& error) {
    throw wrong(error.what());
  }
}

// Each name once, with all that the file gives it, wherever that stands.
std::vector<CLI::ConfigItem> joined(const std::vector<CLI::ConfigItem>& items) {
  std::vector<CLI::ConfigItem> all;
  for (const CLI::ConfigItem& item : items) {
    const auto same = std::ranges::find_if(all, [&](const auto& other) { return other.fullname() == item.fullname(); });
    if (same == all.end()) {
      all.push_back(item);
    } else {
      same->inputs.insert(same->inputs.end(), item.inputs.begin(), item.inputs.end());
    }
  }
  return all;
}

}  // namespace

void add_config_option(CLI::App& command) {
  command
      .add_option_function<std::string>(
          "--config",
          [&command](const std::string& path) {
            if (std::filesystem::is_directory(path))
              throw CLI::ValidationError("--config", path + ": found a directory, expected a file");
            try {
              for (const CLI::ConfigItem& item : joined(CLI::ConfigTOML().from_file(path))) apply(command, path, item);
            } catch (const CLI::FileError& error) {
              throw CLI::ValidationError("--config", error.what());
            }
          },
          "Options from this file, by the same names; the command line goes first")
      ->check(refuse_empty)
      ->type_name("FILE");
}

}  // namespace octavo::cli
