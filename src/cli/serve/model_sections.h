// The sections of a file of options that are about one model each: [model.ID].
//
// A section says which model it is about (`model`, `alias`); the rest of it are options of the command line, of which
// it may have those that are about one model (Option::per_model). The rows are the command line's own, so that names,
// bounds and defaults are the same.
//
// A free function; any thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cli/options/sampling_options.h"
#include "cli/terminal/context.h"
#include "octavo/engine.h"

namespace octavo::cli {

/// How the names of such sections begin.
inline constexpr std::string_view kModelSections = "model.";

/// A model's section of a file of options.
struct ModelSection {
  std::string id;
  std::string model = {};  // its file or name; empty: it is one of -m or of a folder
  std::vector<std::string> aliases = {};
  EngineOptions engine = {};
  SamplingFlags sampling = {};
};

/// The sections of a file, in its order; none where `path` is empty. `engine`, `sampling`: what holds where a section
/// says nothing else. Error: the file cannot be read; a section has an option that no model has, or a wrong value.
Result<std::vector<ModelSection>> read_model_sections(const std::string& path, const EngineOptions& engine,
                                                      const SamplingFlags& sampling, Context& context);

}  // namespace octavo::cli
