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
  std::vector<std::string> named = {};        // from -m and words; empty: the default model, unless there are others
  std::vector<std::string> folders = {};      // from --models-dir
  std::vector<std::string> names = {};        // from --served-model-name
  std::string config_file = {};               // a file whose sections count; empty: none
  SamplingFlags sampling = {};                // for models whose sections do not give it
  std::shared_ptr<PulledModels> pulled = {};  // models to serve besides; null: none
};
/// Adds the options. `memory_bytes` gets the value of --models-memory.
void add_models_options(Command& command, ModelsOptions& options, std::uint64_t& memory_bytes, Context& context);

/// Three quarters of the machine's memory, however much of it is used now.
std::uint64_t default_models_memory();
/// The KV memory of each model where nobody gives it, and all models have `memory_bytes`.
std::uint64_t kv_share_of(std::uint64_t memory_bytes);

/// Whether the server has a single model and can never have another: it is loaded at the start, and may take all free
/// memory.
Result<bool> is_one_model(const ModelsOptions& options, Context& context);
server::ModelEntry one_model(const ModelsOptions& options, const EngineOptions& engine, Context& context);

/// Whether one of the models may see, as far as options and names of files tell: an encoder of pictures is named, or a
/// file named like one is beside a model on this machine, or in its folder. Error: a section is wrong.
Result<bool> may_see(const ModelsOptions& options, const EngineOptions& engine, Context& context);

/// Finds the models, fetches those of a hub, and reads their heads. Each one's KV memory depends on the options and its
/// section alone. `engine` has the values that a section does not give. Errors: a named model cannot be used; a section
/// is wrong; a stop was asked for. A model of a folder, or one that was pulled, is left out where it cannot be used,
/// and a line says so.
Result<std::vector<server::ModelEntry>> find_models(const ModelsOptions& options, const EngineOptions& engine,
                                                    Context& context, const std::stop_token& stop = {});

}  // namespace octavo::cli
