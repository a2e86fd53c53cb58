// Writes a model as one GGUF file, with a progress bar on a terminal and a summary, for `quantize` and `convert`.
#pragma once

#include <string>

#include "cli/options/command_line.h"
#include "cli/terminal/context.h"
#include "convert/quantize_model.h"

namespace octavo::cli {

struct WriteOptions {
  std::string in, out;
  bool force = false;
  int num_threads = 0;  // 0: one for each core
};

/// Adds --force and --threads.
void add_write_options(Command& command, WriteOptions& options);

/// Opens the model of this name.
Result<std::unique_ptr<const ModelSource>> open_input(const WriteOptions& options, const Context& context);
/// Writes a model. Its vocabulary is written in the form that every reader of GGUF knows, where that is possible; else
/// a warning says so.
Result<int> write_model(const ModelSource& source, const WriteOptions& options, QuantizeOptions request,
                        const Context& context);

}  // namespace octavo::cli
