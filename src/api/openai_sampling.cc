// Fields that say how tokens are drawn and where an answer ends.
#include <fmt/format.h>

#include <algorithm>
#include <boost/json/value.hpp>
#include <charconv>
#include <limits>
#include <random>

#include "api/openai_request.h"

namespace octavo {
namespace {

namespace json = boost::json;

constexpr int kMaxInt = std::numeric_limits<int>::max();
constexpr double kMaxBias = 100;  // as good as an order; larger ones count as this

std::uint64_t random_seed() {
  std::random_device device;
  return (std::uint64_t{device()} << 32U) | device();
}

// Any 64-bit integer but kRandomSeed is a seed; a negative one is taken modulo 2^64.
std::uint64_t read_seed(JsonFields& fields, std::optional<std::uint64_t> otherwise) {
  constexpr auto kMin = std::numeric_limits<std::int64_t>::min();
  constexpr auto kMax = std::numeric_limits<std::int64_t>::max();
  if (const json::value* value = fields.find("seed"); value != nullptr && value->is_uint64())
    return value->get_uint64();
  const auto seed = fields.integer("seed", kMin, kMax);
  if (!seed && otherwise) return *otherwise;
  return seed && *seed != kRandomSeed ? static_cast<std::uint64_t>(*seed) : random_seed();
}

// repeat_penalty is llama.cpp's name for what vLLM calls repetition_penalty.
float read_repetition_penalty(JsonFields& fields, float otherwise) {
  constexpr float kMin = 0.01F, kMax = 100;
  const float penalty = fields.number("repetition_penalty", otherwise, kMin, kMax);
  const float by_other_name = fields.number("repeat_penalty", penalty, kMin, kMax);
  if (fields.find("repetition_penalty") != nullptr && penalty != by_other_name) {
    fields.refuse(invalid_value("repeat_penalty", fmt::format("repeat_penalty: found {} beside a repetition_penalty of "
                                                              "{}, expected one of them: they are the same",
                                                              by_other_name, penalty)));
  }
  return by_other_name;
}

std::optional<std::int64_t> parse_token_id(std::string_view text) {
  std::int64_t id = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), id);
  if (error != std::errc() || end != text.data() + text.size() || id < 0) return std::nullopt;
  return id;
}

/// A number, or llama.cpp's false for never.
std::optional<double> bias_of(const json::value& value) {
  if (value == false) return -kMaxBias;
  if (!value.is_number()) return std::nullopt;
  return std::clamp(value.to_number<double>(), -kMaxBias, kMaxBias);
}

/// {"ID": BIAS}, or llama.cpp's [[ID, BIAS]]. A token that the model does not have is drawn no more often for its bias:
/// clients send ids of other vocabularies.
class LogitBias {
 public:
  LogitBias(JsonFields& fields, int num_tokens) : fields_(fields), num_tokens_(num_tokens) {}

  std::vector<std::pair<TokenId, float>> read() {
    const json::value* value = fields_.find("logit_bias");
    if (value == nullptr) return {};
    const json::object* object = value->if_object();
    const json::array* array = value->if_array();
    const std::size_t count = object != nullptr ? object->size() : array != nullptr ? array->size() : 0;
    if (object == nullptr && array == nullptr) {
      fields_.refuse(invalid_type("logit_bias", "an object of token ids with their biases", *value));
    } else if (count > kMaxLogitBias) {
      fields_.refuse(invalid_value(
          "logit_bias", fmt::format("logit_bias: found {} tokens, expected at most {}", count, kMaxLogitBias)));
    } else if (object != nullptr) {
      for (const json::key_value_pair& entry : *object)
        add(parse_token_id(entry.key()), json::value(entry.key()), entry.value());
    } else {
      for (const json::value& pair : *array) add_pair(pair);
    }
    return std::move(biases_);
  }

 private:
  void add_pair(const json::value& value) {
    const json::array* pair = value.if_array();
    if (pair == nullptr || pair->size() != 2)
      return fields_.refuse(invalid_type("logit_bias", "pairs of a token id and a bias", value));
    add(as_integer((*pair)[0]), (*pair)[0], (*pair)[1]);
  }

  void add(std::optional<std::int64_t> id, const json::value& shown, const json::value& value) {
    if (!id || *id < 0)
      return fields_.refuse(
          invalid_value("logit_bias", fmt::format("logit_bias: found {}, expected a token id from 0 to {}",
                                                  describe_json(shown), num_tokens_ - 1)));
    const std::optional<double> bias = bias_of(value);
    if (!bias)
      return fields_.refuse(invalid_type(fmt::format("logit_bias.{}", *id), "a number from -100 to 100", value));
    if (*id < num_tokens_) biases_.emplace_back(static_cast<TokenId>(*id), static_cast<float>(*bias));
  }

  JsonFields& fields_;
  const int num_tokens_;
  std::vector<std::pair<TokenId, float>> biases_ = {};
};

std::vector<std::string> read_stop(JsonFields& fields) {
  std::vector<std::string> stop;
  const JsonCursor given = fields["stop"];
  if (!given.is_given()) return stop;
  const auto add = [&](const JsonCursor& text) {
    const auto string = fields.take(text.needed_string());
    if (string.size() > kMaxStopBytes)
      return fields.refuse(
          text.error(fmt::format("found {} bytes, expected at most {}", string.size(), kMaxStopBytes)));
    if (!string.empty()) stop.emplace_back(string);  // an empty one stops nothing
  };
  if (given.if_string() != nullptr) {
    add(given);
    return stop;
  }
  const json::array* texts = fields.take(given.array("a string or an array of strings"));
  if (texts != nullptr && texts->size() > kMaxStopTexts)
    fields.refuse(given.error(fmt::format("found {} texts, expected at most {}", texts->size(), kMaxStopTexts)));
  for (std::size_t i = 0; texts != nullptr && i < std::min(texts->size(), kMaxStopTexts); ++i) add(given[i]);
  return stop;
}

std::vector<TokenId> read_stop_tokens(JsonFields& fields, int num_tokens) {
  std::vector<TokenId> tokens;
  const JsonCursor given = fields["stop_token_ids"];
  if (!given.is_given()) return tokens;
  const json::array* ids = given.if_array();
  if (ids == nullptr || ids->size() > kMaxStopTokens) {
    fields.refuse(given.wrong_type(fmt::format("an array of at most {} token ids", kMaxStopTokens)));
    return tokens;
  }
  for (std::size_t i = 0; i < ids->size(); ++i) {
    const auto id = as_integer((*ids)[i]);
    if (!id || *id < 0 || *id >= num_tokens) {
      fields.refuse(given[i].wrong_type(fmt::format("a token id from 0 to {}", num_tokens - 1)));
      return tokens;
    }
    tokens.push_back(static_cast<TokenId>(*id));
  }
  return tokens;
}

}  // namespace

void read_sampling(JsonFields& fields, const Engine& engine, const ServedModel& model, Request& request) {
  const ModelInfo& info = engine.info();
  const SamplingParams& defaults = model.sampling_defaults;
  SamplingParams& sampling = request.sampling;
  sampling = defaults;
  sampling.temperature = fields.number("temperature", defaults.temperature, 0, kMaxTemperature);
  const int top_k = fields.integer("top_k", defaults.top_k, -1, kMaxInt);
  sampling.top_k = top_k < 0 ? 0 : top_k;  // -1 is vLLM's "all"
  sampling.top_p = fields.number("top_p", defaults.top_p, 0, 1);
  sampling.min_p = fields.number("min_p", defaults.min_p, 0, 1);
  sampling.seed = read_seed(fields, model.seed);
  sampling.repetition_penalty = read_repetition_penalty(fields, defaults.repetition_penalty);
  sampling.frequency_penalty = fields.number("frequency_penalty", defaults.frequency_penalty, -2, 2);
  sampling.presence_penalty = fields.number("presence_penalty", defaults.presence_penalty, -2, 2);
  sampling.logit_bias = LogitBias(fields, info.num_tokens).read();
  read_samplers(fields, engine, sampling);

  request.num_choices = fields.integer("n", 1, 1, model.max_choices);
  request.min_tokens = fields.integer("min_tokens", 0, 0, kMaxInt);
  request.ignore_eos = fields.boolean("ignore_eos", false);
  request.stop = read_stop(fields);
  request.stop_tokens = read_stop_tokens(fields, info.num_tokens);
  // As in vLLM, from where clients have the field, a lower number goes earlier; a Request's goes later.
  request.priority = -fields.integer("priority", 0, -model.max_client_priority, kMaxPriority);
  if (const auto deadline = fields.number("deadline_s", 0.001, kMaxDeadlineS)) request.deadline_s = *deadline;
}

}  // namespace octavo
