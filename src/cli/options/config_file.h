// Options of a command from a file, by the same names as on the command line.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "cli/options/arguments.h"
#include "cli/options/command_line.h"

namespace octavo::cli {

/// --config FILE: lines such as `port = 8080`, `model = "model.gguf"`, `no-repack = true`; # begins a comment. The
/// command line goes before it. A name that the command does not have is wrong usage, like a wrong value. Add it after
/// the command's other options. `on_path`: is told the file's path. Names in sections that begin as `others` does
/// (empty: none) are somebody else's to read.
void add_config_option(Command& command, std::function<void(const std::string& path)> on_path = {},
                       std::string_view others = {});

/// Gives an option of `command` what an entry of a file has for it. Errors: there is no such option; a wrong value.
Result<void> apply_entry(Command& command, const FileEntry& entry);

}  // namespace octavo::cli
