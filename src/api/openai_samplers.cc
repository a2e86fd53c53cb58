// Fields for what OpenAI's interface does not have: samplers by llama.cpp's names, words and tokens by vLLM's.
#include <fmt/format.h>

#include <boost/json/value.hpp>
#include <limits>

#include "api/openai_request.h"
#include "sampler/sampler.h"
#include "sampler/sampler_order.h"

namespace octavo {
namespace {

namespace json = boost::json;

constexpr int kMaxInt = std::numeric_limits<int>::max();
constexpr std::size_t kMaxBadWords = 128;
constexpr std::size_t kMaxBadWordBytes = 256;

/// An array of at most `most` strings, each of 1 to `most_bytes` bytes; empty where the field is not given or wrong.
std::vector<std::string> read_strings(JsonFields& fields, const char* name, std::size_t most, std::size_t most_bytes) {
  std::vector<std::string> strings;
  const JsonCursor given = fields[name];
  if (!given.is_given()) return strings;
  const json::array* array = given.if_array();
  if (array == nullptr || array->size() > most) {
    fields.refuse(given.wrong_type(fmt::format("an array of at most {} strings", most)));
    return strings;
  }
  for (std::size_t i = 0; i < array->size(); ++i) {
    const json::string* text = (*array)[i].if_string();
    if (text == nullptr || text->empty() || text->size() > most_bytes) {
      fields.refuse(given[i].wrong_type(fmt::format("a string of 1 to {} bytes", most_bytes)));
      return strings;
    }
    strings.emplace_back(*text);
  }
  return strings;
}

/// llama.cpp's numbers of last tokens: -1 is all of them and 0 none, for which `off` is called.
template <class Off>
int read_window(JsonFields& fields, const char* name, int otherwise, const Off& off) {
  const auto window = fields.integer(name, -1, kMaxInt);
  if (!window) return otherwise;
  if (*window == 0) off();
  return *window < 0 ? 0 : static_cast<int>(*window);
}

void read_dry(JsonFields& fields, Dry& dry) {
  dry.multiplier = fields.number("dry_multiplier", dry.multiplier, 0, 100);
  dry.base = fields.number("dry_base", dry.base, 1, 100);
  dry.allowed_length = fields.integer("dry_allowed_length", dry.allowed_length, 0, kMaxInt);
  dry.window = read_window(fields, "dry_penalty_last_n", dry.window, [&dry] { dry.multiplier = 0; });
  if (fields.find("dry_sequence_breakers") != nullptr)
    dry.breakers = read_strings(fields, "dry_sequence_breakers", kMaxDryBreakers, kMaxDryBreakerBytes);
}

void read_mirostat(JsonFields& fields, Mirostat& mirostat) {
  const int version = fields.integer("mirostat", mirostat.enabled ? 2 : 0, 0, 2);
  if (version == 1)
    fields.refuse(unsupported("mirostat", "mirostat: found 1, expected 0 (off) or 2: version 1 is not supported"));
  mirostat.enabled = version == 2;
  mirostat.tau = fields.number("mirostat_tau", mirostat.tau, 0, 100);
  mirostat.eta = fields.number("mirostat_eta", mirostat.eta, 0, 1);
}

void read_order(JsonFields& fields, SamplingParams& sampling) {
  const json::value* value = fields.find("samplers");
  if (value == nullptr) return;
  const json::string* text = value->if_string();
  const Result<SamplerOrder> order =
      text != nullptr ? SamplerOrder::parse(std::string_view(*text).substr(0, 1000))
                      : SamplerOrder::parse(read_strings(fields, "samplers", 2 * kDefaultSamplerOrder.size(), 40));
  if (!order) return fields.refuse(invalid_value("samplers", fmt::format("samplers: {}", order.error().message)));
  order->apply_to(sampling);
}

void read_allowed_tokens(JsonFields& fields, int num_tokens, SamplingParams& sampling) {
  const JsonCursor given = fields["allowed_token_ids"];
  if (!given.is_given()) return;
  const json::array* ids = given.if_array();
  if (ids == nullptr || ids->empty() || ids->size() > kMaxAllowedTokens)
    return fields.refuse(given.wrong_type(fmt::format("an array of 1 to {} token ids", kMaxAllowedTokens)));
  for (std::size_t i = 0; i < ids->size(); ++i) {
    const auto id = as_integer((*ids)[i]);
    if (!id || *id < 0 || *id >= num_tokens) {
      return fields.refuse(given[i].wrong_type(fmt::format("a token id from 0 to {}", num_tokens - 1)));
    }
    sampling.allowed_tokens.push_back(static_cast<TokenId>(*id));
  }
}

/// As vLLM has it: a word is forbidden both at the beginning of a text and behind a space.
void read_bad_words(JsonFields& fields, const Engine& engine, SamplingParams& sampling) {
  constexpr TokenizeOptions kPlain{.add_special = false, .parse_special = false};
  for (const std::string& word : read_strings(fields, "bad_words", kMaxBadWords, kMaxBadWordBytes)) {
    for (const std::string& text : {word, ' ' + word}) {
      Result<std::vector<TokenId>> tokens = engine.tokenize(text, kPlain);
      if (!tokens)
        return fields.refuse(invalid_value("bad_words", fmt::format("bad_words: {}", tokens.error().message)));
      if (!tokens->empty()) sampling.bad_words.push_back(std::move(*tokens));
    }
  }
}

}  // namespace

void read_samplers(JsonFields& fields, const Engine& engine, SamplingParams& sampling) {
  sampling.typical_p = fields.number("typical_p", sampling.typical_p, 0, 1);
  const float sigma = fields.number("top_n_sigma", sampling.top_n_sigma, -1, 1000);
  sampling.top_n_sigma = std::max(sigma, 0.0F);  // -1 is llama.cpp's "off"
  sampling.xtc.probability = fields.number("xtc_probability", sampling.xtc.probability, 0, 1);
  sampling.xtc.threshold = fields.number("xtc_threshold", sampling.xtc.threshold, 0, 1);
  DynamicTemperature& dynamic = sampling.dynamic_temperature;
  dynamic.range = fields.number("dynatemp_range", dynamic.range, 0, kMaxTemperature);
  dynamic.exponent = fields.number("dynatemp_exponent", dynamic.exponent, 0, 100);
  sampling.penalty_window = read_window(fields, "repeat_last_n", sampling.penalty_window, [&sampling] {
    sampling.repetition_penalty = 1;
    sampling.frequency_penalty = sampling.presence_penalty = 0;
  });
  read_dry(fields, sampling.dry);
  read_mirostat(fields, sampling.mirostat);
  read_order(fields, sampling);
  read_allowed_tokens(fields, engine.info().num_tokens, sampling);
  read_bad_words(fields, engine, sampling);
}

}  // namespace octavo
