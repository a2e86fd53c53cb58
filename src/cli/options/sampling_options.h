// Options for the drawing of tokens, for commands that generate text.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/options/command_line.h"
#include "cli/terminal/context.h"
#include "octavo/engine.h"
#include "sampler/sampler_order.h"

namespace octavo::cli {

/// The sampling settings of the command line; the others come from the model's file.
struct SamplingFlags {
  std::optional<float> temperature, top_p, min_p, typical_p, top_n_sigma;
  std::optional<int> top_k;
  std::optional<std::uint64_t> seed;
  std::optional<float> repetition_penalty, presence_penalty, frequency_penalty;
  std::optional<int> penalty_window;
  std::optional<float> dynamic_range, dynamic_exponent;
  std::optional<float> xtc_probability, xtc_threshold;
  std::optional<float> dry_multiplier, dry_base;
  std::optional<int> dry_allowed_length, dry_window;
  std::vector<std::string> dry_breakers = {};
  std::optional<int> mirostat;
  std::optional<float> mirostat_tau, mirostat_eta;
  std::optional<SamplerOrder> order;
};
/// Adds all sampling options but the seed. `otherwise`: the temperature in help where neither options nor file give
/// one.
void add_sampling_options(Command& command, SamplingFlags& flags, std::string_view otherwise = "0.7");
void add_seed_option(Command& command, SamplingFlags& flags);

/// The file's settings, with temperature 0.7 by default, overridden by the flags. Without --seed it is random, and
/// logged.
SamplingParams resolve_sampling(const SamplingFlags& flags, const Engine& engine, const Context& context);

/// Sets in `params` what the flags give, without the seed.
void apply_sampling(const SamplingFlags& flags, SamplingParams& params);

/// Takes one option as if it were on the command line; `name` with or without its dashes. Errors: an unknown name, with
/// the most similar known one; a wrong value.
Result<void> set_sampling(SamplingFlags& flags, const std::string& name, const std::string& value);

/// The options of add_sampling_options(), and the seed, by name without dashes, each with its current value.
std::vector<std::pair<std::string, std::string>> sampling_values(const SamplingParams& params);

}  // namespace octavo::cli
