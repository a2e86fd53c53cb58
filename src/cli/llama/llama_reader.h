// Reads a command line that may have arguments of llama.cpp's server, and their variables: which rows of
// llama_arguments.h are given, and what is left for `octavo serve`.
//
// A free function; one thread.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "cli/llama/llama_arguments.h"
#include "cli/options/command_line.h"
#include "hub/settings.h"

namespace octavo::cli {

/// The program whose meaning counts for names that both programs have, such as -c.
enum class Dialect : std::uint8_t { kOctavo, kLlamaServer };

/// A row of the table with its value, as it was given last.
struct GivenArgument {
  const LlamaArgument* row;
  std::string name;  // as it was given: the name of an argument, or of a variable
  std::string value = {};
  bool is_variable = false;
};

struct LlamaCommandLine {
  std::vector<GivenArgument> given = {};  // at most one for each row
  std::vector<std::string> own = {};      // Octavo's options, and words, as they were given
  std::vector<std::string> values = {};   // the values and words among them
  std::vector<const Option*> own_options = {};

  bool has_own(std::string_view option) const;
  /// The argument with this name; null: it is not given.
  const GivenArgument* find(std::string_view name) const;
  /// The value of an argument; none: it is not given. Error: it is no integer from `low` to `high`.
  Result<std::optional<int>> integer(std::string_view name, int low, int high) const;
};

/// Reads a command line. `serve`: the command whose own options are left in it. A variable counts unless the command
/// line has its argument, or another one that names the model. Errors: an unknown argument, with those that are known
/// (in Octavo's dialect it is left, as words are); a value that is missing, or is no integer.
Result<LlamaCommandLine> read_llama_arguments(std::span<const std::string> args, Command& serve, Dialect dialect,
                                              const hub::Environment& environment);

}  // namespace octavo::cli
