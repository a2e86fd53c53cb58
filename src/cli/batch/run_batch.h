// octavo run --batch: a file of requests, one engine, a file of answers. The main thread.
#pragma once

#include <string>
#include <vector>

#include "cli/batch/batch.h"
#include "cli/options/command_line.h"
#include "cli/options/sampling_options.h"
#include "cli/terminal/context.h"

namespace octavo::cli {

struct BatchOptions {
  std::string file = {};    // empty: no batch; "-": the standard input
  std::string output = {};  // empty: the standard output
  int parallel = 32;
  bool as_finished = false;
  bool resume = false;
};

/// --batch and what belongs to it. `words`: what the command line says beside its options, which no batch has.
void add_batch_options(Command& command, BatchOptions& options, const std::vector<std::string>& words);

/// The exit code: kFailed if a line failed.
Result<int> run_batch(const BatchOptions& options, EngineOptions engine_options, const std::string& model,
                      const SamplingFlags& sampling, const BatchDefaults& defaults, Context& context);

/// "120 answers, 42 %, 35.2/s, 1250 tokens/s, 1:52 left". `total_bytes` of the input; 0: not known.
std::string batch_progress_text(const BatchProgress& progress, std::uint64_t total_bytes, double seconds);

}  // namespace octavo::cli
