// Help, written from the tables: lines of at most 80 columns, options in groups.
#pragma once

#include <string>

#include "cli/options/command_line.h"

namespace octavo::cli {

/// The commands, and where to begin.
std::string help_of(Program& program);
/// A command: its options in their groups, then its footer.
std::string help_of(const Command& command);

}  // namespace octavo::cli
