// Options that several commands share, each declared once, checked while parsing: a wrong value is wrong usage.
#pragma once

#include <CLI/CLI.hpp>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "cli/context.h"
#include "octavo/engine.h"

namespace octavo::cli {

/// An integer option from `low` to `high`.
CLI::Option* add_integer(CLI::App& app, const std::string& name, int& value, int low, int high,
                         const std::string& description);

/// A list of them, separated by commas.
CLI::Option* add_integers(CLI::App& app, const std::string& name, std::vector<int>& values, int low, int high,
                          const std::string& description);

/// For the check of an option whose value names something: an empty one is more likely a variable that nobody set than
/// a wish for the default, which may be less safe.
std::string refuse_empty(const std::string& text);

/// -m, --model.
void add_model_option(CLI::App& app, std::string& model);

/// --threads, --isa, --kv-type, --kv-layout, --block-size, --kv-memory, --no-prefix-cache, --no-repack, --max-context
/// and
/// --chunk into `options`, and --log-level into the context's log.
void add_engine_options(CLI::App& app, EngineOptions& options, Context& context);
void add_kv_type_option(CLI::App& app, KvType& type);
void add_log_level_option(CLI::App& app, Context& context);

/// Sampling asked for on the command line; what is not asked for comes from the model's file.
struct SamplingFlags {
  std::optional<float> temperature, top_p, min_p;
  std::optional<float> repetition_penalty, presence_penalty, frequency_penalty;
  std::optional<int> top_k;
  std::optional<std::uint64_t> seed;
};
void add_sampling_options(CLI::App& app, SamplingFlags& flags);
/// --stop, as often as there are texts that end the answer.
void add_stop_option(CLI::App& app, std::vector<std::string>& stop);

/// The file's settings, then temperature 0.7; over them the flags. Without --seed a random one, which is logged.
SamplingParams resolve_sampling(const SamplingFlags& flags, const Engine& engine, const Context& context);

/// The model to use: the named one, or the default model. Error: none was named and the default is not there, or
/// the system does not say.
Result<std::filesystem::path> resolve_model(const std::string& named, const Context& context);

/// Error: the model has no chat template that is known. Before it is loaded, which may take long; loading tells what
/// else is wrong with the file.
Result<void> check_chat_template(const std::string& model, const Context& context);

/// Loads the engine, with a progress bar on a terminal, and logs what was loaded.
Result<std::unique_ptr<Engine>> load_engine(EngineOptions options, const std::string& model, Context& context);

/// Everything that can be read from `path`, or from the standard input if it is empty.
Result<std::string> read_text(const std::string& path, Context& context);

}  // namespace octavo::cli
