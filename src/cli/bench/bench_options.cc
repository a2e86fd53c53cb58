#include "cli/bench/bench_options.h"

#include <algorithm>

namespace octavo::cli {
namespace {

constexpr int kMaxTokens = 1 << 24;
constexpr int kMaxBatch = 4096;
constexpr int kMaxRepeats = 10000;

void add_format_option(Command& command, BenchFormat& format) {
  const std::vector<std::pair<std::string, BenchFormat>> formats = {
      {"md", BenchFormat::kMarkdown}, {"csv", BenchFormat::kCsv}, {"json", BenchFormat::kJson}};
  add_choice(command, "--format", "FORMAT", formats, store_in(format),
             "md (default): a table in Markdown; csv; json: one object with machine, model and results");
}

}  // namespace

void add_bench_options(Command& command, BenchOptions& options, Context& context) {
  add_model_option(command, options.model);
  add_integers(command, "--prompt", options.prompts, 0, kMaxTokens,
               "Tokens of a prefill; 0 leaves prefill out; default 512");
  add_integers(command, "--gen", options.gens, 0, kMaxTokens,
               "Tokens that each sequence decodes; 0 leaves decode out; default 128");
  add_integers(command, "--batch", options.batches, 1, kMaxBatch,
               "Sequences that decode together; default 1,8,32, and 1 for the contiguous layout");
  add_integers(command, "--depth", options.depths, 0, kMaxTokens,
               "Tokens of each sequence that are there before the clock starts; default 0");
  add_integer(command, "--shared-prefix", options.shared_prefix, 1, kMaxTokens,
              "Also measure sequences that begin with N tokens in common, found in the prefix cache");
  add_integer(command, "--repeat", options.repeat, 1, kMaxRepeats, "Runs of each test; the median is shown; default 5");
  command.add_flag("--profile", options.profile,
                   "Also show where the time of a step goes, part by part; costs some microseconds a step");
  add_format_option(command, options.format);
  command.add_option("--plot", options.plot, "Draw the figures into this file, as SVG")
      ->check(refuse_empty)
      ->type_name("FILE");
  options.engine.draft = DraftMode::kOff;
  add_draft_options(command, options.engine, "off");
  add_engine_options(command, options.engine, context);
}

Result<void> complete_bench_options(BenchOptions& options) {
  if (std::ranges::max(options.prompts) == 0 && std::ranges::max(options.gens) == 0)
    return fail("--prompt: nothing is left to measure where --gen is 0 as well");
  const bool contiguous = options.engine.kv_layout == KvLayout::kContiguous;
  if (options.batches.empty()) options.batches = contiguous ? std::vector{1} : std::vector{1, 8, 32};
  if (contiguous && std::ranges::max(options.batches) > 1)
    return fail("--batch: the contiguous layout has one sequence at a time");
  if (std::ranges::max(options.batches) >= options.engine.max_step_tokens)
    return fail("--batch: needs steps of more rows than sequences: raise --chunk");
  if (options.profile && options.format == BenchFormat::kCsv)
    return fail("--profile: CSV has a line for each test and no room for parts; expected --format md or json");
  options.engine.profile = options.profile;
  if (options.shared_prefix > 0 && (contiguous || !options.engine.prefix_cache))
    return fail("--shared-prefix: needs the paged layout and its prefix cache");
  return {};
}

}  // namespace octavo::cli
