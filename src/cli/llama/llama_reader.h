// Reads a command line that may have arguments of llama.cpp's server, and the variables for them: which rows of
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

/// The names that both programs have, such as -c, mean what they mean in one of them.
enum class Dialect : std::uint8_t { kOctavo, kLlamaServer };

/// An argument of the table with its value, as it was given last.
struct GivenArgument {
  const LlamaArgument* row;
  std::string name;  // as it was written: an argument's, or a variable's
  std::string value = {};
  bool is_variable = false;
};

struct LlamaCommandLine {
  std::vector<GivenArgument> given = {};  // one a row
  std::vector<std::string> own = {};      // options of Octavo's and words, as they were given
  std::vector<std::string> values = {};   // values and words among them
  std::vector<const Option*> own_options = {};

  bool has_own(std::string_view option) const;
  /// The argument that has this name; null: it is not given.
  const GivenArgument* find(std::string_view name) const;
  /// Its value. Error: it is no integer from `low` to `high`.
  Result<std::optional<int>> integer(std::string_view name, int low, int high) const;
};

/// `serve`: the command whose own options are left. A variable counts where the command line has not its
/// argument, nor another that names the model. Errors: an argument that nobody knows, with those that are known (in
/// Octavo's dialect it is left, as words are); a missing value, or one that is no integer.
Result<LlamaCommandLine> read_llama_arguments(std::span<const std::string> args, Command& serve, Dialect dialect,
                                              const hub::Environment& environment);

}  // namespace octavo::cli
