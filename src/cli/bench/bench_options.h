// The measurements that `octavo bench` is asked for. Filled while the arguments are parsed.
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
  std::vector<int> prompts = {512};  // tokens of a prefill; 0: none
  std::vector<int> gens = {128};     // tokens that each sequence decodes; 0: none
  std::vector<int> batches = {};     // sequences that decode together; empty: the layout's default
  std::vector<int> depths = {0};     // tokens that are there before the clock starts
  int shared_prefix = 0;             // tokens that all sequences begin with, in rows of their own; 0: no such rows
  std::vector<PictureSize> pictures = {};  // that are encoded in place of all that; empty: none
  int repeat = 5;
  bool profile = false;  // steps are timed part by part
  BenchFormat format = BenchFormat::kMarkdown;
  std::string plot;  // file; empty: none
};

void add_bench_options(Command& command, BenchOptions& options, Context& context);

/// Once all are parsed: fills in what depends on others. Error: two exclude each other.
Result<void> complete_bench_options(BenchOptions& options);

}  // namespace octavo::cli
