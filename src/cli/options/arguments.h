// CLI11 behind an interface: splits arguments, and files of options, into names and values. Only arguments.cc reads
// CLI11's headers, which take longer to compile than all the rest of src/cli.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "cli/options/command_line.h"

namespace octavo::cli {

/// Gives each option of `command` its values in `args`, and the command its words. "--" ends the options. Returns what
/// looks like an option and is none of the command's, in order. Error: an option lacks its value.
Result<std::vector<std::string>> split_arguments(std::span<const std::string> args, Command& command);

/// A name in a file of options, with all its values there.
struct FileEntry {
  std::string name;  // "section.name" where it is in a section
  std::vector<std::string> values;
};

/// Reads the entries of a file with lines such as `port = 8080`, in TOML's syntax. Error: it cannot be read.
Result<std::vector<FileEntry>> read_options_file(const std::string& path);

}  // namespace octavo::cli
