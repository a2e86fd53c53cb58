// Translates a command line of llama.cpp's server into arguments of `octavo serve`. The rows of llama_arguments.h say
// what becomes of each argument.
//
// A free function; one thread. It reads files only to compare that of --mmproj with the model's.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/error.h"
#include "cli/llama/llama_reader.h"

namespace octavo::cli {

struct LlamaTranslation {
  enum class Action : std::uint8_t { kServe, kHelp, kVersion, kListDevices };

  Action action = Action::kServe;
  std::vector<std::string> args = {};   // for `octavo serve`
  std::vector<std::string> notes = {};  // a line for each argument without effect
};

/// Errors: an argument that is refused, with the reason; a wrong value.
Result<LlamaTranslation> translate_llama_arguments(const LlamaCommandLine& line);

}  // namespace octavo::cli
