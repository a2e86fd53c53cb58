// CLI11 behind a wall: arguments and files of options are cut into names and values here. Only arguments.cc reads
// CLI11's headers, which take longer to compile than all of src/cli beside them.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "cli/options/command_line.h"

namespace octavo::cli {

/// Gives each option of `command` the values that `args` have for it, and the command its words. "--" ends the options.
/// Gives what looks like an option and is none of the command's, in its order. Error: an option lacks its value.
Result<std::vector<std::string>> split_arguments(std::span<const std::string> args, Command& command);

/// One name of a file of options, with all the values that it has there.
struct FileEntry {
  std::string name;  // with its section's, if it is in one: "section.name"
  std::vector<std::string> values;
};

/// The entries of a file of lines such as `port = 8080`, in TOML's syntax. Error: it cannot be read.
Result<std::vector<FileEntry>> read_options_file(const std::string& path);

}  // namespace octavo::cli
