// The arguments of llama.cpp's server, and what becomes of each: a table with one row each. Names, variables and
// numbers of values are llama.cpp's (common/arg.cpp; tools/server/README.md lists them).
//
// Constants; any thread. translate_llama_arguments() (llama_translator.h) reads them.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace octavo::cli {

enum class LlamaFate : std::uint8_t {
  kOption,    // its value becomes that of an option of `octavo serve`
  kCombined,  // the translator makes options of its value, perhaps together with other arguments
  kBuiltIn,   // it asks for what Octavo always does
  kIgnored,   // it changes no answer: a line says why it has no effect
  kRefused,   // it would change answers, or what is served, and Octavo does not have it
  kAction,    // it asks for a text on standard output instead of a server
};

struct LlamaArgument {
  std::string_view names;     // names with commas between them
  std::string_view variable;  // an environment variable; empty: there is none
  std::string_view value;     // the value's name in help; N: an integer; empty: it is a flag
  LlamaFate fate;
  std::string_view text;           // for kOption the option; else what it does here, or why it does nothing
  std::string_view harmless = {};  // values, divided by bars, that ask for what Octavo does anyway

  bool is_flag() const { return value.empty(); }
  /// Whether it is a flag that turns something off; its variable does so by being set, to whatever value.
  bool is_negative() const { return variable.starts_with("LLAMA_ARG_NO_"); }
  std::string_view first_name() const { return names.substr(0, names.find(',')); }
  bool has_name(std::string_view name) const;
  bool is_harmless(std::string_view given) const;
};

std::span<const LlamaArgument> llama_arguments();
/// The row of this name; null: llama.cpp's server has no such argument. Long names may have underscores for dashes, as
/// there.
const LlamaArgument* find_llama_argument(std::string_view name);
/// The row that says the opposite of a flag, such as --no-slots for --slots; null: there is none.
const LlamaArgument* opposite_of(const LlamaArgument& argument);
/// All names, in the order of the table.
std::vector<std::string> llama_argument_names();
/// The table as help: what is taken, what has no effect, what is refused.
std::string llama_arguments_help();

}  // namespace octavo::cli
