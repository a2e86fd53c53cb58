// Writes a model as one GGUF file, with a bar on a terminal and a summary: what `quantize` and `convert` have in
// common.
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

/// --force and --threads.
void add_write_options(Command& command, WriteOptions& options);

/// The model of this name, opened.
Result<std::unique_ptr<const ModelSource>> open_input(const WriteOptions& options, const Context& context);
/// The model's words are written as every reader of GGUF knows them, where that can be; else a warning says so.
Result<int> write_model(const ModelSource& source, const WriteOptions& options, QuantizeOptions request,
                        const Context& context);

}  // namespace octavo::cli
