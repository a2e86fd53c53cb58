// Fields that say how tokens are drawn and where an answer ends.
#include <fmt/format.h>

#include <boost/json/value.hpp>
#include <charconv>
#include <limits>
#include <random>

#include "server/openai_request.h"

namespace octavo::server {
namespace {

namespace json = boost::json;

constexpr int kMaxInt = std::numeric_limits<int>::max();

std::uint64_t random_seed() {
  std::random_device device;
  return (std::uint64_t{device()} << 32U) | device();
}

// Any 64-bit integer is a seed; a negative one is taken modulo 2^64.
std::uint64_t read_seed(JsonFields& fields) {
  constexpr auto kMin = std::numeric_limits<std::int64_t>::min();
  constexpr auto kMax = std::numeric_limits<std::int64_t>::max();
  if (const json::value* value = fields.find("seed"); value != nullptr && value->is_uint64())
    return value->get_uint64();
  const auto seed = fields.integer("seed", kMin, kMax);
  return seed ? static_cast<std::uint64_t>(*seed) : random_seed();
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

std::optional<TokenId> parse_token_id(std::string_view text, int num_tokens) {
  TokenId id = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), id);
  if (error != std::errc() || end != text.data() + text.size() || id < 0 || id >= num_tokens) return std::nullopt;
  return id;
}

std::vector<std::pair<TokenId, float>> read_logit_bias(JsonFields& fields, int num_tokens) {
  std::vector<std::pair<TokenId, float>> biases;
  const json::object* object = fields.object("logit_bias");
  if (object == nullptr) return biases;
  if (object->size() > kMaxLogitBias) {
    fields.refuse(invalid_value(
        "logit_bias", fmt::format("logit_bias: found {} tokens, expected at most {}", object->size(), kMaxLogitBias)));
    return biases;
  }
  JsonFields values(*object, "logit_bias.");
  for (const json::key_value_pair& entry : *object) {
    const auto id = parse_token_id(entry.key(), num_tokens);
    if (!id) {
      fields.refuse(
          invalid_value("logit_bias", fmt::format("logit_bias: found the key {}, expected a token id from 0 to {}",
                                                  describe(json::value(entry.key())), num_tokens - 1)));
      return biases;
    }
    if (const auto bias = values.number(entry.key(), -100, 100)) biases.emplace_back(*id, static_cast<float>(*bias));
  }
  if (values.failed()) fields.refuse(*values.error());
  return biases;
}

std::vector<std::string> read_stop(JsonFields& fields) {
  std::vector<std::string> stop;
  const json::value* value = fields.find("stop");
  if (value == nullptr) return stop;
  const auto add = [&](const std::string& name, const json::value& text) {
    if (!text.is_string()) return fields.refuse(invalid_type(name, "a string", text));
    const json::string& string = text.get_string();
    if (string.empty() || string.size() > kMaxStopBytes) {
      return fields.refuse(invalid_value(
          "stop", fmt::format("{}: found {} bytes, expected 1 to {}", name, string.size(), kMaxStopBytes)));
    }
    stop.emplace_back(string);
  };
  const json::array* texts = value->if_array();
  if (texts == nullptr) {
    if (value->is_string()) {
      add("stop", *value);
    } else {
      fields.refuse(invalid_type("stop", "a string or an array of strings", *value));
    }
    return stop;
  }
  if (texts->size() > kMaxStopTexts) {
    fields.refuse(
        invalid_value("stop", fmt::format("stop: found {} texts, expected at most {}", texts->size(), kMaxStopTexts)));
    return stop;
  }
  for (std::size_t i = 0; i < texts->size(); ++i) add(fmt::format("stop[{}]", i), (*texts)[i]);
  return stop;
}

std::vector<TokenId> read_stop_tokens(JsonFields& fields, int num_tokens) {
  std::vector<TokenId> tokens;
  const json::value* value = fields.find("stop_token_ids");
  if (value == nullptr) return tokens;
  const json::array* ids = value->if_array();
  if (ids == nullptr || ids->size() > kMaxStopTokens) {
    fields.refuse(
        invalid_type("stop_token_ids", fmt::format("an array of at most {} token ids", kMaxStopTokens), *value));
    return tokens;
  }
  for (std::size_t i = 0; i < ids->size(); ++i) {
    const auto id = as_integer((*ids)[i]);
    if (!id || *id < 0 || *id >= num_tokens) {
      fields.refuse(invalid_type(fmt::format("stop_token_ids[{}]", i),
                                 fmt::format("a token id from 0 to {}", num_tokens - 1), (*ids)[i]));
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
  sampling.temperature = fields.number("temperature", defaults.temperature, 0, 2);
  const int top_k = fields.integer("top_k", defaults.top_k, -1, kMaxInt);
  sampling.top_k = top_k < 0 ? 0 : top_k;  // -1 is vLLM's "all"
  sampling.top_p = fields.number("top_p", defaults.top_p, 0, 1);
  sampling.min_p = fields.number("min_p", defaults.min_p, 0, 1);
  sampling.seed = read_seed(fields);
  sampling.repetition_penalty = read_repetition_penalty(fields, defaults.repetition_penalty);
  sampling.frequency_penalty = fields.number("frequency_penalty", defaults.frequency_penalty, -2, 2);
  sampling.presence_penalty = fields.number("presence_penalty", defaults.presence_penalty, -2, 2);
  sampling.logit_bias = read_logit_bias(fields, info.num_tokens);
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

}  // namespace octavo::server
