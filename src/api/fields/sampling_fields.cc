#include "api/fields/sampling_fields.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json/value.hpp>
#include <charconv>
#include <utility>

#include "api/call/completion.h"
#include "api/call/token_ids.h"
#include "base/error.h"
#include "base/random_bytes.h"

namespace octavo {
namespace {

namespace json = boost::json;

constexpr double kMaxBias = 100;  // larger biases count as this one, which already decides

SamplingParams& sampling_of(FieldReader& reader) { return reader.request.settings.sampling; }

/// The number that a text is as a whole; nothing where it is none.
std::optional<std::int64_t> number_of(std::string_view text) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

/// A bias: a number, or llama.cpp's false, which means never.
std::optional<double> bias_of(const json::value& value) {
  if (value == false) return -kMaxBias;
  if (!value.is_number()) return std::nullopt;
  return std::clamp(value.to_number<double>(), -kMaxBias, kMaxBias);
}

/// Reads {"ID": BIAS}, or llama.cpp's [[ID, BIAS]]. In place of an id there may be a text, as in llama.cpp: each of its
/// tokens gets the bias. A token that the model does not have is ignored: clients send ids of other vocabularies.
class LogitBias {
 public:
  LogitBias(FieldReader& reader, const ApiField& field)
      : reader_(reader), given_(reader.at(field.path)), num_tokens_(reader.context.words.info().num_tokens) {}

  std::vector<std::pair<TokenId, float>> read() {
    if (!given_.is_given()) return {};
    const json::object* object = given_.if_object();
    const json::array* array = given_.if_array();
    const std::size_t count = object != nullptr ? object->size() : array != nullptr ? array->size() : 0;
    if (object == nullptr && array == nullptr) {
      reader_.refuse(given_.wrong_type("an object of token ids or texts with their biases"));
    } else if (count > kMaxLogitBias) {
      reader_.refuse(given_.error(fmt::format("found {} tokens, expected at most {}", count, kMaxLogitBias)));
    } else if (object != nullptr) {
      for (const json::key_value_pair& entry : *object) {
        if (reader_.failed()) break;
        const std::string_view key = entry.key();
        if (const auto id = number_of(key)) {
          add(id, given_, json::value(entry.key()), given_[key]);
        } else {
          add_text(key, given_, given_[key]);
        }
      }
    } else {
      for (std::size_t i = 0; i < array->size() && !reader_.failed(); ++i) add_pair(given_[i]);
    }
    return std::move(biases_);
  }

 private:
  void add_pair(const JsonCursor& given) {
    const json::array* pair = given.if_array();
    if (pair == nullptr || pair->size() != 2)
      return reader_.refuse(given.wrong_type("a pair of a token id, or a text, and a bias"));
    if (const json::string* text = (*pair)[0].if_string()) return add_text(*text, given[0], given[1]);
    add(as_integer((*pair)[0]), given[0], (*pair)[0], given[1]);
  }

  /// Adds the tokens of a text. All texts together may have as many tokens as there may be entries.
  void add_text(std::string_view text, const JsonCursor& place, const JsonCursor& bias) {
    if (text.empty())
      return reader_.refuse(place.error("found an empty text, expected a token id, or a text with at least one token"));
    const std::optional<float> number = take_bias(bias);
    if (!number) return;
    const std::size_t left = kMaxLogitBias - biases_.size();
    const auto tokens = reader_.context.words.tokenize(
        text, {.add_special = false, .parse_special = false, .max_tokens = std::max<std::size_t>(left, 1)});
    if (!tokens && tokens.error().kind != ErrorKind::kContextOverflow)
      return reader_.refuse(place.error(tokens.error().message));
    if (!tokens || tokens->size() > left)
      return reader_.refuse(
          place.error(fmt::format("found texts of more than {} tokens, expected at most as many", kMaxLogitBias)));
    for (const TokenId token : *tokens) biases_.emplace_back(token, *number);
  }

  /// The bias; nothing where it is wrong, which is refused.
  std::optional<float> take_bias(const JsonCursor& bias) {
    const std::optional<double> number = bias.is_given() ? bias_of(*bias.value()) : std::nullopt;
    if (number) return static_cast<float>(*number);
    reader_.refuse(bias.wrong_type("a number from -100 to 100"));
    return std::nullopt;
  }

  void add(std::optional<std::int64_t> id, const JsonCursor& place, const json::value& shown, const JsonCursor& bias) {
    if (!id || *id < 0)
      return reader_.refuse(place.error(
          fmt::format("found {}, expected a token id from 0 to {}", describe_json(shown), num_tokens_ - 1)));
    const std::optional<float> number = take_bias(bias);
    if (number && *id < num_tokens_) biases_.emplace_back(static_cast<TokenId>(*id), *number);
  }

  FieldReader& reader_;
  const JsonCursor given_;
  const int num_tokens_;
  std::vector<std::pair<TokenId, float>> biases_ = {};
};

/// Reads `least` to `most` ids of the vocabulary; empty where the field is not given or wrong.
std::vector<TokenId> read_ids(FieldReader& reader, const JsonCursor& given, std::size_t least, std::size_t most) {
  const json::array* ids = given.if_array();
  if (ids == nullptr || ids->size() < least || ids->size() > most) {
    reader.refuse(given.wrong_type(fmt::format("an array of {} {} token ids", least == 0 ? "at most" : "1 to", most)));
    return {};
  }
  auto tokens = read_token_ids(given, *ids, reader.context.words.info().num_tokens);
  if (tokens) return std::move(*tokens);
  reader.refuse(std::move(tokens.error()));
  return {};
}

}  // namespace

namespace field {

JsonResult<std::uint64_t> read_seed(const JsonCursor& given) {
  if (given.is_given() && given.value()->is_uint64()) return given.value()->get_uint64();
  OCTAVO_TRY(const std::int64_t seed,
             given.needed_integer(std::numeric_limits<std::int64_t>::min(), std::numeric_limits<std::int64_t>::max()));
  return static_cast<std::uint64_t>(seed);
}

void take_seed(FieldReader& reader, const ApiField& field) {
  ApiRequest& request = reader.request;
  const JsonCursor given = reader.at(field.path);
  if (!given.is_given()) return;
  const std::uint64_t seed = reader.take(read_seed(given));
  request.is_seeded = given.value()->is_uint64() || seed != static_cast<std::uint64_t>(kRandomSeed);
  request.settings.sampling.seed = request.is_seeded ? seed : drawn_seed();
}

void take_top_k(FieldReader& reader, const ApiField& field) {
  into_sampling<&SamplingParams::top_k>(reader, field);
  int& top_k = sampling_of(reader).top_k;
  top_k = std::max(top_k, 0);  // -1 means all, as in vLLM
}

void take_repetition_penalty(FieldReader& reader, const ApiField& field) {
  into_sampling<&SamplingParams::repetition_penalty>(reader, field);
}

// Takes llama.cpp's name for vLLM's repetition_penalty, whose row comes before this one.
void take_repeat_penalty(FieldReader& reader, const ApiField& field) {
  constexpr std::string_view kSame = "repetition_penalty";
  const float penalty = sampling_of(reader).repetition_penalty;
  into_sampling<&SamplingParams::repetition_penalty>(reader, field);
  const float by_other_name = sampling_of(reader).repetition_penalty;
  if (reader.at(kSame).is_given() && penalty != by_other_name)
    reader.refuse(reader.at(field.path)
                      .error(fmt::format("found {} beside a {} of {}, expected one of them: they are the same",
                                         by_other_name, kSame, penalty)));
}

void take_logit_bias(FieldReader& reader, const ApiField& field) {
  sampling_of(reader).logit_bias = LogitBias(reader, field).read();
}

void take_stop(FieldReader& reader, const ApiField& field) {
  const JsonCursor given = reader.at(field.path);
  if (!given.is_given()) return;
  const auto add = [&reader](const JsonCursor& text) {
    const auto found = reader.take(text.needed_string());
    if (found.size() > kMaxStopBytes)
      return reader.refuse(text.error(fmt::format("found {} bytes, expected at most {}", found.size(), kMaxStopBytes)));
    if (!found.empty()) reader.request.settings.stop.emplace_back(found);  // an empty one stops nothing
  };
  const bool may_be_one = field.form == FieldForm::kStringOrArray;
  if (may_be_one && given.if_string() != nullptr) return add(given);
  const json::array* texts =
      reader.take(given.array(may_be_one ? "a string or an array of strings" : "an array of strings"));
  if (texts != nullptr && texts->size() > kMaxGivenStopTexts)
    reader.refuse(given.error(fmt::format("found {} texts, expected at most {}", texts->size(), kMaxGivenStopTexts)));
  for (std::size_t i = 0; texts != nullptr && i < std::min(texts->size(), kMaxGivenStopTexts); ++i) add(given[i]);
}

void take_stop_tokens(FieldReader& reader, const ApiField& field) {
  const JsonCursor given = reader.at(field.path);
  if (given.is_given()) reader.request.settings.stop_tokens = read_ids(reader, given, 0, kMaxStopTokens);
}

void take_allowed_tokens(FieldReader& reader, const ApiField& field) {
  const JsonCursor given = reader.at(field.path);
  if (given.is_given()) sampling_of(reader).allowed_tokens = read_ids(reader, given, 1, kMaxAllowedTokens);
}

void take_num_choices(FieldReader& reader, const ApiField& field) {
  const auto asked = reader.take(reader.at(field.path).integer(1, reader.context.model.policy.max_choices));
  if (asked) reader.request.settings.num_choices = static_cast<int>(*asked);
}

// Takes the priority: a lower number goes first, as in vLLM; in a Request a higher number does.
void take_priority(FieldReader& reader, const ApiField& field) {
  const auto asked =
      reader.take(reader.at(field.path).integer(-reader.context.model.policy.max_client_priority, kMaxPriority));
  if (asked) reader.request.settings.priority = -static_cast<int>(*asked);
}

}  // namespace field
}  // namespace octavo
