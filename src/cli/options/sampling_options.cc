#include "cli/options/sampling_options.h"

#include <spdlog/logger.h>

#include <algorithm>
#include <limits>

#include "base/random_bytes.h"
#include "cli/options/nearest.h"
#include "cli/options/options.h"
#include "cli/terminal/parse.h"

namespace octavo::cli {
namespace {

constexpr int kMaxInt = std::numeric_limits<int>::max();

void add_real(Command& command, const std::string& name, std::optional<float>& value, float low, float high,
              const std::string& description) {
  add_parsed(
      command, name, "NUMBER", [=](const std::string& text) { return parse_real(text, low, high); }, store_in(value),
      description)
      ->per_model();
}

void add_count(Command& command, const std::string& name, std::optional<int>& value, int low,
               const std::string& description) {
  add_parsed(
      command, name, "N", [low](const std::string& text) { return parse_integer(text, low, kMaxInt); },
      [&value](std::int64_t v) { value = static_cast<int>(v); }, description)
      ->per_model();
}

void add_cuts(Command& command, SamplingFlags& flags, std::string_view otherwise) {
  add_real(command, "--temp,--temperature", flags.temperature, 0, 100,
           fmt::format("Temperature; 0 takes the most likely token; default: the file's, else {}", otherwise));
  add_real(command, "--dynatemp-range", flags.dynamic_range, 0, 100,
           "Temperatures this much lower and higher, by how uncertain the model is; default 0");
  add_real(command, "--dynatemp-exp", flags.dynamic_exponent, 0, 100, "Exponent of that uncertainty; default 1");
  add_count(command, "--top-k", flags.top_k, 0, "Keep the N most likely tokens; 0: all");
  add_real(command, "--top-p", flags.top_p, 0, 1, "Keep the fewest tokens whose probabilities sum to at least this");
  add_real(command, "--min-p", flags.min_p, 0, 1, "Drop tokens less likely than this share of the most likely one");
  add_real(command, "--typical", flags.typical_p, 0, 1,
           "Keep the fewest tokens of the most expected surprise that sum to at least this; default 1, all");
  add_real(command, "--top-n-sigma", flags.top_n_sigma, 0, 1000,
           "Keep logits within so many standard deviations of the largest; default 0, all");
  add_real(command, "--xtc-probability", flags.xtc_probability, 0, 1,
           "How often all top choices but the least likely are left out; default 0");
  add_real(command, "--xtc-threshold", flags.xtc_threshold, 0, 1,
           "What a top choice's probability is at least; default 0.1");
}

void add_penalties(Command& command, SamplingFlags& flags) {
  add_real(command, "--repeat-penalty", flags.repetition_penalty, 0.01F, 100,
           "Make tokens of the prompt and the answer less likely: above 1; default 1, no change");
  add_real(command, "--presence-penalty", flags.presence_penalty, -2, 2,
           "Taken from the logits of tokens that the answer has already; default 0");
  add_real(command, "--frequency-penalty", flags.frequency_penalty, -2, 2,
           "Taken from them once for each time that the answer has the token; default 0");
  add_count(command, "--repeat-last-n", flags.penalty_window, -1,
            "Last tokens that penalties look at; -1: all, which is the default; 0: none");
  add_real(command, "--dry-multiplier", flags.dry_multiplier, 0, 100,
           "Penalty of a token that would continue a repetition; default 0, none");
  add_real(command, "--dry-base", flags.dry_base, 1, 100, "Its growth with each repeated token; default 1.75");
  add_count(command, "--dry-allowed-length", flags.dry_allowed_length, 0,
            "Repeated tokens from which it begins; default 2");
  add_count(command, "--dry-penalty-last-n", flags.dry_window, -1,
            "Last tokens that are searched for repetitions; -1: all, which is the default; 0: none");
  command
      .add_option("--dry-sequence-breaker", flags.dry_breakers,
                  "A text that ends repetitions, in place of the default ones; may be given up to 16 times")
      ->per_model();
}

void add_mirostat(Command& command, SamplingFlags& flags) {
  add_choice<int>(command, "--mirostat", "0|1|2", {{"0", 0}, {"1", 1}, {"2", 2}}, store_in(flags.mirostat),
                  "Version of Mirostat, which takes the place of all cuts; default 0, none")
      ->per_model();
  add_real(command, "--mirostat-ent", flags.mirostat_tau, 0, 100, "Mean surprise that it aims at, in bits; default 5");
  add_real(command, "--mirostat-lr", flags.mirostat_eta, 0, 1, "How fast it follows; default 0.1");
}

std::string shown(const std::vector<SamplerStep>& order) {
  return order.empty() ? "the default" : sampler_step_names(order);
}

/// A window in llama.cpp's form, where -1 is all tokens.
std::string shown_window(int window) { return window == 0 ? "-1" : fmt::format("{}", window); }

template <class T>
void set(T& value, const std::optional<T>& flag) {
  if (flag) value = *flag;
}

/// Sets a window from llama.cpp's number: -1 is all tokens; 0 is none, and gives false.
bool set_window(int& window, const std::optional<int>& flag) {
  if (flag) window = std::max(*flag, 0);
  return flag != 0;
}

void set_penalties(SamplingParams& params, const SamplingFlags& flags) {
  set(params.repetition_penalty, flags.repetition_penalty);
  set(params.presence_penalty, flags.presence_penalty);
  set(params.frequency_penalty, flags.frequency_penalty);
  if (!set_window(params.penalty_window, flags.penalty_window)) {
    params.repetition_penalty = 1;
    params.presence_penalty = params.frequency_penalty = 0;
  }
  set(params.dry.multiplier, flags.dry_multiplier);
  set(params.dry.base, flags.dry_base);
  set(params.dry.allowed_length, flags.dry_allowed_length);
  if (!set_window(params.dry.window, flags.dry_window)) params.dry.multiplier = 0;
  if (!flags.dry_breakers.empty()) params.dry.breakers = flags.dry_breakers;
}

}  // namespace

void add_sampling_options(Command& command, SamplingFlags& flags, std::string_view otherwise) {
  command.group("Sampling");
  add_cuts(command, flags, otherwise);
  add_penalties(command, flags);
  add_mirostat(command, flags);
  add_parsed(
      command, "--samplers", "NAMES", [](const std::string& text) { return SamplerOrder::parse(text); },
      store_in(flags.order),
      "Steps in their order, between semicolons; those not named are left out. All, in the default order: penalties, "
      "dry, top_n_sigma, top_k, typ_p, top_p, min_p, xtc, temperature")
      ->per_model();
}

void add_seed_option(Command& command, SamplingFlags& flags) {
  add_parsed(
      command, "--seed", "N", [](const std::string& text) { return parse_u64(text); },
      [&flags](std::uint64_t v) { flags.seed = v; }, "Same seed, same answer; default: a random one");
}

void apply_sampling(const SamplingFlags& flags, SamplingParams& params) {
  set(params.temperature, flags.temperature);
  set(params.top_k, flags.top_k);
  set(params.top_p, flags.top_p);
  set(params.min_p, flags.min_p);
  set(params.typical_p, flags.typical_p);
  set(params.top_n_sigma, flags.top_n_sigma);
  set(params.dynamic_temperature.range, flags.dynamic_range);
  set(params.dynamic_temperature.exponent, flags.dynamic_exponent);
  set(params.xtc.probability, flags.xtc_probability);
  set(params.xtc.threshold, flags.xtc_threshold);
  set_penalties(params, flags);
  set(params.mirostat.version, flags.mirostat);
  set(params.mirostat.tau, flags.mirostat_tau);
  set(params.mirostat.eta, flags.mirostat_eta);
  if (flags.order) flags.order->apply_to(params);
}

SamplingParams resolve_sampling(const SamplingFlags& flags, const Engine& engine, const Context& context) {
  SamplingParams defaults;
  defaults.temperature = 0.7F;
  SamplingParams params = engine.text()->default_sampling(defaults);
  apply_sampling(flags, params);
  params.seed = flags.seed ? *flags.seed : random_seed();
  context.log->info("sampling: temperature {}, top-k {}, top-p {}, min-p {}, seed {}, order {}", params.temperature,
                    params.top_k, params.top_p, params.min_p, params.seed, shown(params.order));
  return params;
}

Result<void> set_sampling(SamplingFlags& flags, const std::string& name, const std::string& value) {
  Command command("set", "");
  SamplingFlags changed = flags;
  add_sampling_options(command, changed);
  add_seed_option(command, changed);
  std::string option_name = "--" + name.substr(std::min(name.find_first_not_of('-'), name.size()));
  std::ranges::replace(option_name, '_', '-');
  Option* option = command.find_option(option_name);
  if (option == nullptr)
    return fail("found no option {}{}", option_name, did_you_mean(option_name, command.option_names()));
  if (option->is_repeatable()) changed.dry_breakers.clear();
  option->give(value);
  OCTAVO_TRY_VOID(option->take_given());
  flags = std::move(changed);
  return {};
}

std::vector<std::pair<std::string, std::string>> sampling_values(const SamplingParams& params) {
  std::vector<std::pair<std::string, std::string>> values;
  const auto add = [&values](std::string_view name, const auto& value) {
    values.emplace_back(name, fmt::format("{}", value));
  };
  add("temperature", params.temperature);
  add("dynatemp-range", params.dynamic_temperature.range);
  add("dynatemp-exp", params.dynamic_temperature.exponent);
  add("top-k", params.top_k);
  add("top-p", params.top_p);
  add("min-p", params.min_p);
  add("typical", params.typical_p);
  add("top-n-sigma", params.top_n_sigma);
  add("xtc-probability", params.xtc.probability);
  add("xtc-threshold", params.xtc.threshold);
  add("repeat-penalty", params.repetition_penalty);
  add("presence-penalty", params.presence_penalty);
  add("frequency-penalty", params.frequency_penalty);
  add("repeat-last-n", shown_window(params.penalty_window));
  add("dry-multiplier", params.dry.multiplier);
  add("dry-base", params.dry.base);
  add("dry-allowed-length", params.dry.allowed_length);
  add("dry-penalty-last-n", shown_window(params.dry.window));
  std::string breakers;
  for (const std::string& text : params.dry.breakers) {
    if (!breakers.empty()) breakers += ' ';
    breakers += escaped(text);
  }
  add("dry-sequence-breaker", breakers);
  add("mirostat", params.mirostat.version);
  add("mirostat-ent", params.mirostat.tau);
  add("mirostat-lr", params.mirostat.eta);
  add("samplers", shown(params.order));
  add("seed", params.seed);
  return values;
}

}  // namespace octavo::cli
