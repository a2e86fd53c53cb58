// Help, made from the tables: lines of at most 80 columns, options in groups.
#pragma once

#include <string>

#include "cli/options/command_line.h"

namespace octavo::cli {

/// The help of the program: its commands, and how to begin.
std::string help_of(Program& program);
/// The help of a command: its options in groups, then its footer.
std::string help_of(const Command& command);

}  // namespace octavo::cli
