// From arguments to the command that they ask for, with its options taken. One thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/options/command_line.h"

namespace octavo::cli {

/// The command or the help that the arguments ask for.
struct Invocation {
  enum class Kind : std::uint8_t { kNothing, kVersion, kHelp, kCommand };
  Kind kind = Kind::kNothing;
  const Command* command = nullptr;  // the command to perform or to explain; null: the program itself
};

/// Parses arguments. `args`: without the program's name. Error: wrong usage, in one line that says where help is.
Result<Invocation> parse_arguments(Program& program, const std::vector<std::string>& args);

}  // namespace octavo::cli
