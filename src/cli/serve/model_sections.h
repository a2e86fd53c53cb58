// The sections in a file of options that are about one model each: [model.ID].
//
// A section says which model it is about (`model`, `alias`). All else in it are options of the command line that are
// about one model (Option::per_model). The rows are the command line's own, so that names, bounds and defaults are the
// same.
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

/// The beginning of the names of such sections.
inline constexpr std::string_view kModelSections = "model.";

/// A section about one model.
struct ModelSection {
  std::string id;
  std::string model = {};  // a file or a name; empty: a model of -m or of a folder
  std::vector<std::string> aliases = {};
  EngineOptions engine = {};
  SamplingFlags sampling = {};
};

/// Reads the sections of a file, in order; none where `path` is empty. `engine` and `sampling` have the values that a
/// section does not give. Errors: the file cannot be read; a section has an option that is not about a model, or a
/// wrong value.
Result<std::vector<ModelSection>> read_model_sections(const std::string& path, const EngineOptions& engine,
                                                      const SamplingFlags& sampling, Context& context);

}  // namespace octavo::cli
