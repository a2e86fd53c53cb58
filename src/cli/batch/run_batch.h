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
  std::string file = {};    // empty: there is no batch; "-": standard input
  std::string output = {};  // empty: standard output
  int parallel = 32;
  bool as_finished = false;
  bool resume = false;
};

/// Adds --batch and the options that go with it. `words`: the arguments besides options, of which a batch has none.
void add_batch_options(Command& command, BatchOptions& options, const std::vector<std::string>& words);

/// Runs a batch and gives the exit code: kFailed if a line failed.
Result<int> run_batch(const BatchOptions& options, EngineOptions engine_options, const std::string& model,
                      const SamplingFlags& sampling, const BatchDefaults& defaults, Context& context);

/// A text such as "120 answers, 42 %, 35.2/s, 1250 tokens/s, 1:52 left". `total_bytes`: of the input; 0: not known.
std::string batch_progress_text(const BatchProgress& progress, std::uint64_t total_bytes, double seconds);

}  // namespace octavo::cli
