// Reads options of a command from a file, where they have the same names as on the command line.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "cli/options/arguments.h"
#include "cli/options/command_line.h"

namespace octavo::cli {

/// Adds --config FILE, after the command's other options: a file of lines such as `port = 8080`, `model =
/// "model.gguf"`, `no-repack = true`; # begins a comment. The command line goes before it. An unknown name is wrong
/// usage, as is a wrong value. `on_path` gets the file's path. Sections whose names begin with `others` (empty: none)
/// are read elsewhere.
void add_config_option(Command& command, std::function<void(const std::string& path)> on_path = {},
                       std::string_view others = {});

/// Gives an option of `command` the values of a file's entry. Errors: there is no such option; a wrong value.
Result<void> apply_entry(Command& command, const FileEntry& entry);

}  // namespace octavo::cli
