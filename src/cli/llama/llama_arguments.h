// The arguments of llama.cpp's server, and what becomes of each here: a table with one row each. Names, variables and
// the number of values are llama.cpp's (common/arg.cpp; tools/server/README.md lists them).
//
// Constants; any thread. translate_llama_arguments() (llama_translator.h) goes through them.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace octavo::cli {

enum class LlamaFate : std::uint8_t {
  kOption,    // its value is that of an option of `octavo serve`
  kCombined,  // the translator makes options of it, with its value or with other arguments
  kBuiltIn,   // it asks for what is so here anyway
  kIgnored,   // it changes no answer: one line says why it has no effect
  kRefused,   // it would change answers, or what is served, and is not there
  kAction,    // it asks for a text on standard output, and no server
};

struct LlamaArgument {
  std::string_view names;     // separated by commas
  std::string_view variable;  // of the environment; empty: none
  std::string_view value;     // its name in help; N: an integer; empty: a flag
  LlamaFate fate;
  std::string_view text;           // the option of kOption; else what it does here, or why it does not
  std::string_view harmless = {};  // values between bars that ask for what is so here: they are taken without a word

  bool is_flag() const { return value.empty(); }
  /// A flag that says no, whose variable means so by being there.
  bool is_negative() const { return variable.starts_with("LLAMA_ARG_NO_"); }
  std::string_view first_name() const { return names.substr(0, names.find(',')); }
  bool has_name(std::string_view name) const;
  bool is_harmless(std::string_view given) const;
};

std::span<const LlamaArgument> llama_arguments();
/// Null: llama.cpp's server has no such argument. It takes underscores for the dashes of long names, and so does this.
const LlamaArgument* find_llama_argument(std::string_view name);
/// The argument that says the opposite of a flag, as --no-slots of --slots; null: there is none.
const LlamaArgument* opposite_of(const LlamaArgument& argument);
/// All names, in the table's order.
std::vector<std::string> llama_argument_names();
/// The table for a person: what is taken, what has no effect, what is refused.
std::string llama_arguments_help();

}  // namespace octavo::cli
