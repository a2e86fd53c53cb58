#include "engine/generation_config.h"

#include <boost/json.hpp>
#include <cmath>
#include <limits>
#include <string>
#include <utility>

#include "sampler/sampler.h"

namespace octavo {
namespace {

namespace json = boost::json;

constexpr std::size_t kMaxDepth = 8;
constexpr std::size_t kMaxBadWords = 1024;

std::string shown(const json::value& value) {
  constexpr std::size_t kMaxShown = 60;
  std::string text = json::serialize(value);
  if (text.size() > kMaxShown) text = text.substr(0, kMaxShown) + "...";
  return text;
}

/// Reads fields of one object; the first error is kept.
class Fields {
 public:
  Fields(const json::object& object, int num_tokens)
      : object_(object), largest_id_(num_tokens > 0 ? num_tokens - 1 : std::numeric_limits<TokenId>::max()) {}

  std::optional<float> number(std::string_view name) {
    const json::value* value = find(name);
    if (value == nullptr) return std::nullopt;
    boost::system::error_code error;
    const auto number = value->is_number() ? value->to_number<double>(error) : 0.0;
    if (value->is_number() && !error && std::abs(number) <= 1e30) return static_cast<float>(number);
    refuse(name, *value, "a number");
    return std::nullopt;
  }
  std::optional<int> count(std::string_view name) {
    const json::value* value = find(name);
    if (value == nullptr) return std::nullopt;
    const std::int64_t* count = value->if_int64();
    if (count != nullptr && *count >= 0 && *count <= std::numeric_limits<int>::max()) return static_cast<int>(*count);
    refuse(name, *value, "an integer of at least 0");
    return std::nullopt;
  }
  /// One id, or an array of them.
  std::vector<TokenId> ids(std::string_view name) {
    const json::value* value = find(name);
    if (value == nullptr) return {};
    if (value->is_array()) return ids_of(std::string(name), value->get_array());
    return ids_of(std::string(name), {*value});
  }
  std::vector<std::vector<TokenId>> words(std::string_view name) {
    const json::value* value = find(name);
    if (value == nullptr) return {};
    const json::array* array = value->if_array();
    if (array == nullptr || array->size() > kMaxBadWords) {
      refuse(name, *value, fmt::format("an array of at most {} arrays of token ids", kMaxBadWords));
      return {};
    }
    std::vector<std::vector<TokenId>> words;
    for (std::size_t i = 0; i < array->size() && !error_; ++i) {
      const std::string place = fmt::format("{}[{}]", name, i);
      const json::array* word = (*array)[i].if_array();
      if (word == nullptr || word->empty()) {
        refuse(place, (*array)[i], "an array of token ids");
      } else {
        words.push_back(ids_of(place, *word));
      }
    }
    return words;
  }

  const std::optional<Error>& error() const { return error_; }

 private:
  const json::value* find(std::string_view name) const {
    const json::value* value = object_.if_contains(name);
    return value == nullptr || value->is_null() ? nullptr : value;
  }
  void refuse(std::string_view name, const json::value& found, std::string_view expected) {
    if (!error_) error_ = Error{fmt::format("{}: found {}, expected {}", name, shown(found), expected)};
  }
  std::vector<TokenId> ids_of(const std::string& name, const json::array& array) {
    std::vector<TokenId> ids;
    ids.reserve(array.size());
    for (const json::value& value : array) {
      const std::int64_t* id = value.if_int64();
      if (id == nullptr || *id < 0 || *id > largest_id_) {
        refuse(fmt::format("{}[{}]", name, ids.size()), value, fmt::format("a token id from 0 to {}", largest_id_));
        return {};
      }
      ids.push_back(static_cast<TokenId>(*id));
    }
    return ids;
  }

  const json::object& object_;
  const std::int64_t largest_id_;
  std::optional<Error> error_;
};

}  // namespace

Result<SamplingDefaults> parse_generation_config(std::string_view text, int num_tokens) {
  if (text.size() > kMaxGenerationConfigBytes)
    return fail("found {} bytes, expected at most {}", text.size(), kMaxGenerationConfigBytes);
  json::parse_options options;
  options.max_depth = kMaxDepth;
  json::stream_parser parser(json::storage_ptr(), options);
  boost::system::error_code error;
  const std::size_t used = parser.write_some(text.data(), text.size(), error);
  if (!error && used < text.size()) error = json::error::extra_data;
  if (!error) parser.finish(error);
  if (error) return fail("found no JSON: {} near byte {} of {}", error.message(), used, text.size());
  const json::value value = parser.release();
  if (!value.is_object()) return fail("found {}, expected an object", shown(value));
  Fields fields(value.get_object(), num_tokens);
  SamplingDefaults defaults{.temperature = fields.number("temperature"),
                            .top_k = fields.count("top_k"),
                            .top_p = fields.number("top_p"),
                            .min_p = fields.number("min_p"),
                            .typical_p = fields.number("typical_p"),
                            .repetition_penalty = fields.number("repetition_penalty"),
                            .suppressed = fields.ids("suppress_tokens"),
                            .end_tokens = fields.ids("eos_token_id"),
                            .bad_words = fields.words("bad_words_ids")};
  if (fields.error()) return std::unexpected(*fields.error());
  if (const Result<void> valid = check_sampling_params(defaults.over({})); !valid)
    return fail("{}", valid.error().message);
  return defaults;
}

}  // namespace octavo
