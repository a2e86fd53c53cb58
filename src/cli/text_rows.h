// Computes the rows (vectors or scores) of many texts, with a few of the texts in the engine at a time: these bound the
// memory, however many texts there are.
//
// The thread that drives the engine.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "cli/options/command_line.h"
#include "cli/terminal/context.h"
#include "octavo/engine.h"

namespace octavo::cli {

struct TextRowsRun {
  std::size_t num_texts = 0;
  Pooling pooling = Pooling::kMean;
  std::size_t width = 0;  // the floats of a row
  /// Makes the prompt of a text. Error: it has none.
  std::function<Result<EmbeddingPrompt>(std::size_t index)> prompt = {};
  /// Takes the rows of a text; texts come in order. Error: nothing more is computed.
  std::function<Result<void>(std::size_t index, std::vector<float> rows)> take = {};
  std::string label = {};  // the label of the progress bar
};

/// False: Ctrl-C ended it. Errors: those of the functions; a text that the engine refuses, or whose request ends in
/// another way; numbers that are not finite.
Result<bool> run_texts(Engine& engine, const TextRowsRun& run, Context& context);

/// The options of an engine that only computes rows of texts.
EngineOptions engine_of_texts(EngineOptions options);

/// The words or, if there are none, the lines of a file or of standard input ("-", or no file). Errors: an empty line
/// between others; no text at all.
Result<std::vector<std::string>> read_texts(const std::vector<std::string>& words, const std::string& file,
                                            std::string_view what, Context& context);

/// Adds --pooling: how the rows of a text become one.
void add_pooling_option(Command& command, std::optional<Pooling>& pooling);
/// Adds --embd-normalize: the `p` of normalize().
void add_norm_option(Command& command, int& norm);

}  // namespace octavo::cli
