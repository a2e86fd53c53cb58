#include "cli/bench/bench_options.h"

#include <algorithm>
#include <span>
#include <string_view>

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

/// Reads sizes such as "640x480,1920x1080".
Result<std::vector<PictureSize>> parse_sizes(const std::string& text) {
  constexpr int kMostSide = 16'384, kMostAspect = 200;  // the limits of pictures that can be read
  std::vector<PictureSize> sizes;
  std::string_view left = text;
  while (true) {
    const std::string_view one = left.substr(0, left.find(','));
    const std::size_t middle = one.find('x');
    const auto width = parse_integer(std::string(one.substr(0, middle)), 1, kMostSide);
    const auto height =
        middle == std::string_view::npos ? width : parse_integer(std::string(one.substr(middle + 1)), 1, kMostSide);
    if (middle == std::string_view::npos || !width || !height)
      return fail("found '{}', expected WIDTHxHEIGHT such as 640x480, sides up to {}", std::string(one), kMostSide);
    if (std::max(*width, *height) > kMostAspect * std::min(*width, *height))
      return fail("found '{}', expected sides that differ by {} times at most", std::string(one), kMostAspect);
    sizes.push_back({static_cast<int>(*width), static_cast<int>(*height)});
    if (one.size() == left.size()) return sizes;
    left.remove_prefix(one.size() + 1);
  }
}

void add_picture_measurements(Command& command, BenchOptions& options, std::span<const Option* const> others) {
  constexpr int kMostTokens = 1 << 16;
  Option* image = add_parsed(command, "--image", "WxH,...", parse_sizes, store_in(options.pictures),
                             "Measure how long the model's encoder takes for pictures of these sizes, in place of all "
                             "else");
  for (const Option* other : others) image->excludes(other);
  command.add_option("--mmproj", options.mmproj, "The encoder; default: the one that the model has")
      ->check(refuse_empty)
      ->type_name("FILE")
      ->needs(image);
  add_integer(command, "--image-min-tokens", options.engine.image_min_tokens, 1, kMostTokens,
              "Tokens that a picture becomes at least; default: the encoder's")
      ->needs(image);
  add_integer(command, "--image-max-tokens", options.engine.image_max_tokens, 1, kMostTokens,
              "And at most; default: the encoder's")
      ->needs(image);
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
  const Option* shared =
      add_integer(command, "--shared-prefix", options.shared_prefix, 1, kMaxTokens,
                  "Also measure sequences that begin with N tokens in common, found in the prefix cache");
  add_integer(command, "--repeat", options.repeat, 1, kMaxRepeats, "Runs of each test; the median is shown; default 5");
  const Option* profile =
      command.add_flag("--profile", options.profile,
                       "Also show where the time of a step goes, part by part; costs some microseconds a step");
  add_format_option(command, options.format);
  const Option* plot = command.add_option("--plot", options.plot, "Draw the figures into this file, as SVG")
                           ->check(refuse_empty)
                           ->type_name("FILE");
  const Option* others[] = {shared, profile, plot};
  add_picture_measurements(command, options, others);
  options.engine.draft = DraftMode::kOff;
  add_draft_options(command, options.engine, "off");
  add_engine_options(command, options.engine, context);
}

Result<void> complete_bench_options(BenchOptions& options) {
  if (!options.pictures.empty() && options.engine.draft != DraftMode::kOff)
    return fail("--image: found --draft beside it, expected one of them");
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
