#include "engine/text/sampling_defaults.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <limits>

#include "sampler/sampler.h"

namespace octavo {
namespace {

constexpr std::string_view kSuppressTokens = "tokenizer.ggml.suppress_tokens";

std::string key_of(std::string_view name) { return fmt::format("general.sampling.{}", name); }

Result<std::optional<float>> read_float(const ModelSource& source, std::string_view name) {
  const std::string key = key_of(name);
  if (source.find(key) == nullptr) return std::nullopt;
  OCTAVO_TRY(const float value, source.get_f32(key));
  return value;
}

/// Reads an integer. llama.cpp writes an int32; a negative one counts as -1.
Result<std::optional<int>> read_int(const ModelSource& source, std::string_view name) {
  const std::string key = key_of(name);
  const MetadataValue* value = source.find(key);
  if (value == nullptr) return std::nullopt;
  const std::int64_t* negative = std::get_if<std::int64_t>(&value->value);
  if (negative != nullptr && *negative < 0) return -1;
  OCTAVO_TRY(const std::uint64_t number, source.get_u64(key));
  constexpr std::uint64_t kLargest = std::numeric_limits<int>::max();
  if (number > kLargest) return fail("{}: {}: found {}, expected at most {}", source.name(), key, number, kLargest);
  return static_cast<int>(number);
}

/// Reads top_k, where -1 and 0 keep all tokens.
Result<void> read_top_k(const ModelSource& source, SamplingDefaults& defaults) {
  OCTAVO_TRY(defaults.top_k, read_int(source, "top_k"));
  if (defaults.top_k) defaults.top_k = std::max(*defaults.top_k, 0);
  return {};
}

/// Reads the repetition penalty; a window of -1 is all tokens, one of 0 is none.
Result<void> read_penalty(const ModelSource& source, SamplingDefaults& defaults) {
  OCTAVO_TRY(defaults.repetition_penalty, read_float(source, "penalty_repeat"));
  OCTAVO_TRY(defaults.penalty_window, read_int(source, "penalty_last_n"));
  if (!defaults.penalty_window) return {};
  if (*defaults.penalty_window == 0) defaults.repetition_penalty = 1;
  defaults.penalty_window = std::max(*defaults.penalty_window, 0);
  return {};
}

Result<void> read_mirostat(const ModelSource& source, SamplingDefaults& defaults) {
  OCTAVO_TRY(defaults.mirostat, read_int(source, "mirostat"));
  if (defaults.mirostat && (*defaults.mirostat < 0 || *defaults.mirostat > 2))
    return fail("{}: {}: found {}, expected 0 (off), 1 or 2", source.name(), key_of("mirostat"), *defaults.mirostat);
  OCTAVO_TRY(defaults.mirostat_tau, read_float(source, "mirostat_tau"));
  OCTAVO_TRY(defaults.mirostat_eta, read_float(source, "mirostat_eta"));
  return {};
}

Result<void> read_order(const ModelSource& source, SamplingDefaults& defaults) {
  const std::string key = key_of("sequence");
  if (source.find(key) == nullptr) return {};
  OCTAVO_TRY(const std::string_view text, source.get_string(key));
  Result<SamplerOrder> order = SamplerOrder::parse(text);
  if (!order) return fail("{}: {}: {}", source.name(), key, order.error().message);
  defaults.order = std::move(*order);
  return {};
}

Result<void> read_bad_words(const ModelSource& source, SamplingDefaults& defaults) {
  const std::string key = key_of("bad_words_ids");
  if (source.find(key) == nullptr) return {};
  OCTAVO_TRY(const std::vector<std::int32_t> ids, source.get_i32_array(key));
  std::vector<TokenId> word;
  for (const std::int32_t id : ids) {
    if (id >= 0) {
      word.push_back(id);
      continue;
    }
    if (id != -1 || word.empty() || defaults.bad_words.size() == kMaxBadWords)
      return fail(
          "{}: {}: found {} behind {} words and {} ids, expected ids, a -1 behind each word, and at most {} words",
          source.name(), key, id, defaults.bad_words.size(), word.size(), kMaxBadWords);
    defaults.bad_words.push_back(std::exchange(word, {}));
  }
  if (!word.empty())
    return fail("{}: {}: found {} ids at the end, expected a -1 behind them", source.name(), key, word.size());
  return {};
}

}  // namespace

Result<SamplingDefaults> SamplingDefaults::read(const ModelSource& source) {
  SamplingDefaults defaults;
  OCTAVO_TRY(defaults.temperature, read_float(source, "temp"));
  OCTAVO_TRY_VOID(read_top_k(source, defaults));
  OCTAVO_TRY(defaults.top_p, read_float(source, "top_p"));
  OCTAVO_TRY(defaults.min_p, read_float(source, "min_p"));
  OCTAVO_TRY(defaults.xtc_probability, read_float(source, "xtc_probability"));
  OCTAVO_TRY(defaults.xtc_threshold, read_float(source, "xtc_threshold"));
  OCTAVO_TRY_VOID(read_penalty(source, defaults));
  OCTAVO_TRY_VOID(read_mirostat(source, defaults));
  OCTAVO_TRY_VOID(read_order(source, defaults));
  OCTAVO_TRY_VOID(read_bad_words(source, defaults));
  if (source.find(kSuppressTokens) != nullptr) {
    OCTAVO_TRY(defaults.suppressed, source.get_i32_array(kSuppressTokens));
  }
  if (const Result<void> valid = check_sampling_params(defaults.over({})); !valid) {
    return fail("{}: general.sampling: {}", source.name(), valid.error().message);
  }
  return defaults;
}

SamplingParams SamplingDefaults::over(SamplingParams params) const {
  params.temperature = temperature.value_or(params.temperature);
  params.top_k = top_k.value_or(params.top_k);
  params.top_p = top_p.value_or(params.top_p);
  params.min_p = min_p.value_or(params.min_p);
  params.typical_p = typical_p.value_or(params.typical_p);
  params.xtc.probability = xtc_probability.value_or(params.xtc.probability);
  params.xtc.threshold = xtc_threshold.value_or(params.xtc.threshold);
  params.repetition_penalty = repetition_penalty.value_or(params.repetition_penalty);
  params.penalty_window = penalty_window.value_or(params.penalty_window);
  params.mirostat.version = mirostat.value_or(params.mirostat.version);
  params.mirostat.tau = mirostat_tau.value_or(params.mirostat.tau);
  params.mirostat.eta = mirostat_eta.value_or(params.mirostat.eta);
  if (order) order->apply_to(params);
  params.bad_words.insert(params.bad_words.end(), bad_words.begin(), bad_words.end());
  return params;
}

SamplingDefaults SamplingDefaults::behind(const SamplingDefaults& first) const {
  SamplingDefaults both = *this;
  const auto prefer = [](auto& value, const auto& preferred) {
    if (preferred) value = preferred;
  };
  prefer(both.temperature, first.temperature);
  prefer(both.top_k, first.top_k);
  prefer(both.top_p, first.top_p);
  prefer(both.min_p, first.min_p);
  prefer(both.typical_p, first.typical_p);
  prefer(both.xtc_probability, first.xtc_probability);
  prefer(both.xtc_threshold, first.xtc_threshold);
  prefer(both.repetition_penalty, first.repetition_penalty);
  prefer(both.penalty_window, first.penalty_window);
  prefer(both.mirostat, first.mirostat);
  prefer(both.mirostat_tau, first.mirostat_tau);
  prefer(both.mirostat_eta, first.mirostat_eta);
  prefer(both.order, first.order);
  const auto join = [](auto& list, const auto& more) { list.insert(list.end(), more.begin(), more.end()); };
  join(both.suppressed, first.suppressed);
  join(both.end_tokens, first.end_tokens);
  join(both.bad_words, first.bad_words);
  return both;
}

std::vector<std::pair<std::string, std::string>> SamplingDefaults::described() const {
  std::vector<std::pair<std::string, std::string>> lines;
  const auto add = [&lines](std::string_view name, const auto& value) {
    if (value) lines.emplace_back(name, fmt::format("{}", *value));
  };
  add("temperature", temperature);
  add("top_k", top_k);
  add("top_p", top_p);
  add("min_p", min_p);
  add("typical_p", typical_p);
  add("xtc_probability", xtc_probability);
  add("xtc_threshold", xtc_threshold);
  add("repetition_penalty", repetition_penalty);
  add("penalty_window", penalty_window);
  add("mirostat", mirostat);
  add("mirostat_tau", mirostat_tau);
  add("mirostat_eta", mirostat_eta);
  if (order) lines.emplace_back("order", sampler_step_names(order->steps));
  const auto add_list = [&lines](std::string_view name, const auto& list, std::string_view what) {
    if (!list.empty()) lines.emplace_back(name, fmt::format("{} {}", list.size(), what));
  };
  add_list("suppressed", suppressed, "tokens");
  if (!end_tokens.empty()) lines.emplace_back("end_tokens", fmt::format("{}", fmt::join(end_tokens, " ")));
  add_list("bad_words", bad_words, "words");
  return lines;
}

}  // namespace octavo
