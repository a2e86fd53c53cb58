// The models that `octavo serve` offers: those of -m, of folders, and of sections in its file of options.
//
// Free functions; any thread. The context must outlive what they give.
#pragma once

#include <cstdint>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "cli/options/command_line.h"
#include "cli/options/sampling_options.h"
#include "cli/serve/pulled_models.h"
#include "cli/terminal/context.h"
#include "server/model_slot.h"

namespace octavo::cli {

struct ModelsOptions {
  std::vector<std::string> named = {};        // -m and words; none: the default model, unless there are others
  std::vector<std::string> folders = {};      // --models-dir
  std::vector<std::string> names = {};        // --served-model-name
  std::string config_file = {};               // whose sections count; empty: none
  SamplingFlags sampling = {};                // of models whose sections say nothing else
  std::shared_ptr<PulledModels> pulled = {};  // served beside the others; null: none
};
/// `memory_bytes`: of --models-memory.
void add_models_options(Command& command, ModelsOptions& options, std::uint64_t& memory_bytes, Context& context);

/// Three quarters of the memory that there is, whatever else takes some of it now.
std::uint64_t default_models_memory();
/// A model's KV memory, where nobody says how much it is and `memory_bytes` are for all models.
std::uint64_t kv_share_of(std::uint64_t memory_bytes);

/// One model is served, and nothing else can be: it is loaded at the start and may take what memory there is.
Result<bool> is_one_model(const ModelsOptions& options, Context& context);
server::ModelEntry one_model(const ModelsOptions& options, const EngineOptions& engine, Context& context);

/// Whether one of the models may see, as far as options and names of files tell: an encoder of pictures is named, or a
/// file with such a name lies beside a model that is on this machine, or in its folder. Error: a section is wrong.
Result<bool> may_see(const ModelsOptions& options, const EngineOptions& engine, Context& context);

/// Finds the models, fetches those of a hub, and reads their heads. Each one's KV memory follows from the options and
/// its section alone. `engine`: of those whose sections say nothing else. Errors: a model that was named
/// cannot be used; a section is wrong; a stop was asked for. A model of a folder, or one that was pulled, that cannot
/// be used is left out, which a line says.
Result<std::vector<server::ModelEntry>> find_models(const ModelsOptions& options, const EngineOptions& engine,
                                                    Context& context, const std::stop_token& stop = {});

}  // namespace octavo::cli
