// Options that several commands share, each declared once and checked while parsing: a wrong value is wrong usage.
#pragma once

#include <concepts>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/options/command_line.h"
#include "cli/terminal/context.h"
#include "cli/terminal/parse.h"
#include "octavo/engine.h"

namespace octavo::cli {

/// A function that stores an option's value in `value`, which must live until the command has been performed.
template <class Value>
auto store_in(Value& value) {
  return [&value](auto given) { value = std::move(given); };
}

/// Adds an option whose text `parse` turns into a value, which `store` takes, or refuses with a message.
template <class Parse, class Store>
Option* add_parsed(Command& command, std::string_view names, std::string_view type, const Parse& parse,
                   const Store& store, std::string_view description) {
  const auto take = [parse, store](const std::string& text) -> Result<void> {
    auto value = parse(text);
    if (!value) return std::unexpected(std::move(value.error()));
    store(std::move(*value));
    return {};
  };
  return command.add_option_function(names, take, description)->type_name(type);
}

/// The index of `text` in `words`. Error: it is not there; it names all words, and the most similar one.
Result<std::size_t> find_choice(const std::string& text, std::span<const std::string> words);

/// Adds an option that takes one of some words, each of which stands for a value.
template <class T, class Store>
Option* add_choice(Command& command, std::string_view names, std::string_view type,
                   const std::vector<std::pair<std::string, T>>& choices, const Store& store,
                   std::string_view description) {
  std::vector<std::string> words;
  words.reserve(choices.size());
  for (const auto& [word, value] : choices) words.push_back(word);
  const auto parse = [choices, words](const std::string& text) -> Result<T> {
    OCTAVO_TRY(const std::size_t index, find_choice(text, words));
    return choices[index].second;
  };
  return add_parsed(command, names, type, parse, store, description);
}
/// Adds an integer option from `low` to `high`, which T can hold.
template <std::integral T>
Option* add_integer(Command& command, std::string_view names, T& value, int low, int high,
                    std::string_view description) {
  return add_parsed(
      command, names, "N", [=](const std::string& text) { return parse_integer(text, low, high); },
      [&value](std::int64_t number) { value = static_cast<T>(number); }, description);
}

/// Adds an option for a list of integers with commas between them.
Option* add_integers(Command& command, const std::string& name, std::vector<int>& values, int low, int high,
                     const std::string& description);

/// The check of an option whose value names something: an empty value is more likely a variable that nobody set than a
/// wish for the default, which may be less safe.
std::string refuse_empty(const std::string& text);

/// Whether a word among the arguments is a model's file: it ends in .gguf, or names a file that begins as GGUF does.
bool names_model(const std::string& word);
/// Adds -m, --model. Without it, the first word is the model's file if names_model() is true for it; `words` gets the
/// others. `words_shown`: all words, as help shows them.
void add_model_option(Command& command, std::string& model, std::string_view words_shown,
                      std::vector<std::string>& words);
/// Adds the model's option to a command that takes no other words.
void add_model_option(Command& command, std::string& model);

/// The defaults of a command with one user, who wants the whole answer soon: steps as large as is efficient.
inline EngineOptions engine_of_one_user() { return {.itl_target_ms = 0}; }
/// Adds --threads, --isa, --kv-type, --kv-layout, --block-size, --kv-memory, --no-prefix-cache, --no-repack,
/// --quantize, --max-context and --chunk, which set `options`, and --log-level, which sets the context's log.
void add_engine_options(Command& command, EngineOptions& options, Context& context);
/// Adds --draft and --draft-max. `usual`: the default of --draft.
void add_draft_options(Command& command, EngineOptions& options, std::string_view usual = "auto");
/// Adds --mmproj, --no-mmproj, --image-min-tokens, --image-max-tokens, --picture-memory and the bounds of pictures.
void add_picture_options(Command& command, EngineOptions& options);
/// Adds --kv-store, and --kv-store-size, -min and -ttl; warnings go to the context's log.
void add_kv_store_options(Command& command, KvStoreSettings& store, Context& context);
void add_kv_type_option(Command& command, KvType& type);
void add_kv_memory_option(Command& command, std::uint64_t& bytes);
void add_context_option(Command& command, int& max_context);
void add_quantize_option(Command& command, std::string& mix);
/// Adds --device, with `text` as its description, and --gpu-layers.
void add_device_options(Command& command, Device& device, int& gpu_layers, const std::string& text);
void add_log_level_option(Command& command, Context& context);

/// Adds --stop, a text that ends the answer, which may be given several times.
void add_stop_option(Command& command, std::vector<std::string>& stop);
/// Adds --regex and --grammar, constraints on the answer, of which one may be given. A grammar's file is read while
/// parsing.
void add_constraint_options(Command& command, std::optional<ConstraintSource>& constraint);
/// `closes_objects`: see ConstraintSource.
void add_additional_properties_option(Command& command, bool& closes_objects, std::string_view of_whom);

/// Adds --reasoning-budget: the tokens of an answer's reasoning, from 0; -1: any number.
void add_reasoning_budget_option(Command& command, int& budget);
/// Adds --reasoning-format: whether reasoning is separate from the content.
void add_reasoning_format_option(Command& command, ReasoningMode& mode);
/// The budget for this model's answers: -1 where no marks of reasoning are known for it, of which a warning tells.
int usable_reasoning_budget(const Engine& engine, int budget, const Context& context);

/// Adds --generation-config, which gives the text of a valid generation_config.json.
void add_generation_config_option(Command& command, std::string& generation_config);
/// Adds --tokenizer: a tokenizer.json whose vocabulary replaces the model's own.
void add_tokenizer_option(Command& command, std::filesystem::path& path);

/// Adds --chat-template, a valid template: the text of a file, else a template with this name, else the value itself.
Option* add_chat_template_option(Command& command, std::string& chat_template);
/// Adds --chat-template-file, which takes only a file.
Option* add_chat_template_file_option(Command& command, std::string& chat_template);
/// Checks before the model is loaded, which may take long, that it has a valid chat template, unless `instead` is
/// given. Loading reports other errors of the file.
Result<void> check_chat_template(const std::filesystem::path& model, const std::string& instead);

/// Finds the model by its name (find_model.h) and loads the engine, with a progress bar on a terminal, and logs what
/// was loaded. It ends with an error once options.stop is asked for, also while the model is fetched.
Result<std::unique_ptr<Engine>> load_engine(EngineOptions options, const std::string& model, Context& context);

/// Reads all of `path`, or of standard input if it is empty. Error: more than 256 MiB, which is no prompt.
Result<std::string> read_text(const std::string& path, Context& context);

}  // namespace octavo::cli
