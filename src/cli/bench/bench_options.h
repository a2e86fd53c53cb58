// What `octavo bench` is asked to measure. Filled while the arguments are parsed.
#pragma once

#include <string>
#include <vector>

#include "cli/options/command_line.h"
#include "cli/options/options.h"
#include "cli/terminal/context.h"
#include "octavo/engine.h"
#include "vision/picture.h"

namespace octavo::cli {

enum class BenchFormat : std::uint8_t { kMarkdown, kCsv, kJson };

struct BenchOptions {
  EngineOptions engine = engine_of_one_user();
  std::string model, mmproj;
  std::vector<int> prompts = {512};        // the tokens of each prefill; 0: none
  std::vector<int> gens = {128};           // the tokens that each sequence decodes; 0: none
  std::vector<int> batches = {};           // how many sequences decode together; empty: the layout's default
  std::vector<int> depths = {0};           // the tokens of a sequence before the clock starts
  int shared_prefix = 0;                   // tokens with which all sequences of extra rows begin; 0: no such rows
  std::vector<PictureSize> pictures = {};  // pictures to encode instead of all that; empty: none
  int repeat = 5;
  bool profile = false;  // the parts of steps are timed
  BenchFormat format = BenchFormat::kMarkdown;
  std::string plot;  // a file; empty: none
};

void add_bench_options(Command& command, BenchOptions& options, Context& context);

/// Completes options that depend on others, once all are parsed. Error: two exclude each other.
Result<void> complete_bench_options(BenchOptions& options);

}  // namespace octavo::cli
