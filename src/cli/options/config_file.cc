#include "cli/options/config_file.h"

#include <filesystem>

#include "cli/options/nearest.h"
#include "cli/options/options.h"

namespace octavo::cli {

Result<void> apply_entry(Command& command, const FileEntry& entry) {
  Option* option = command.find_option("--" + entry.name);
  if (option == nullptr || entry.name == "config" || entry.name == "help") {
    std::vector<std::string> names;
    for (const Option& known : command.options()) names.push_back(known.name().substr(2));
    return fail("there is no such option{}", did_you_mean(entry.name, names));
  }
  // This is wrong in the file even where the command line goes before it.
  if (!option->is_repeatable() && entry.values.size() != 1)
    return fail("found {} values, expected 1", entry.values.size());
  if (option->is_from_file()) return fail("found it a second time, as one option has several names");
  if (option->count() > 0) return {};  // the command line goes before the file
  option->give_from_file(entry.values);
  return option->take_given();
}

void add_config_option(Command& command, std::function<void(const std::string& path)> on_path,
                       std::string_view others) {
  command
      .add_option_function(
          "--config",
          [&command, on_path = std::move(on_path), others](const std::string& path) -> Result<void> {
            std::error_code ignored;
            if (std::filesystem::is_directory(path, ignored))
              return fail("{}: found a directory, expected a file", path);
            OCTAVO_TRY(const std::vector<FileEntry> entries, read_options_file(path));
            for (const FileEntry& entry : entries) {
              if (!others.empty() && entry.name.starts_with(others)) continue;
              if (const auto applied = apply_entry(command, entry); !applied)
                return fail("{}: {}: {}", path, entry.name, applied.error().message);
            }
            if (on_path) on_path(path);
            return {};
          },
          "Options from this file, by the same names; the command line goes first")
      ->check(refuse_empty)
      ->type_name("FILE");
}

}  // namespace octavo::cli
