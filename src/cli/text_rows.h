// The rows that a model makes of many texts, vectors or scores, with some of them in the engine at a time: memory is
// bounded by these, however many texts there are.
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
  std::size_t width = 0;  // floats of a row
  /// The prompt of a text. Error: it makes none.
  std::function<Result<EmbeddingPrompt>(std::size_t index)> prompt = {};
  /// Takes a text's rows, in the order of the texts; its tokens. Error: nothing more is computed.
  std::function<Result<void>(std::size_t index, std::vector<float> rows)> take = {};
  std::string label = {};  // of the progress bar
};

/// False: Ctrl-C ended it. Errors: those of the functions; a text that the engine refuses, or that ends otherwise;
/// numbers that are not finite.
Result<bool> run_texts(Engine& engine, const TextRowsRun& run, Context& context);

/// The options of an engine that is there for texts alone.
EngineOptions engine_of_texts(EngineOptions options);

/// The words, or if there are none the lines of a file or of standard input ("-", and where no file is named).
/// Error: an empty line between others, or nothing at all.
Result<std::vector<std::string>> read_texts(const std::vector<std::string>& words, const std::string& file,
                                            std::string_view what, Context& context);

/// --pooling: how a text's rows become one.
void add_pooling_option(Command& command, std::optional<Pooling>& pooling);
/// --embd-normalize: normalize()'s p.
void add_norm_option(Command& command, int& norm);

}  // namespace octavo::cli
