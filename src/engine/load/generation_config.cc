#include "engine/load/generation_config.h"

#include <fmt/format.h>

#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "json/json_cursor.h"
#include "json/json_document.h"
#include "sampler/sampler.h"

namespace octavo {
namespace {

namespace json = boost::json;

/// Reads the fields of the file, and keeps the first error.
class ConfigReader {
 public:
  ConfigReader(const json::object& object, int num_tokens)
      : whole_(object), largest_id_(num_tokens > 0 ? num_tokens - 1 : std::numeric_limits<TokenId>::max()) {}

  std::optional<float> number(std::string_view name) { return take(whole_[name].number(-1e30F, 1e30F)); }
  std::optional<int> count(std::string_view name) {
    const auto count = take(whole_[name].integer(0, std::numeric_limits<int>::max()));
    return count ? std::optional(static_cast<int>(*count)) : std::nullopt;
  }
  /// Reads one id, or an array of ids.
  std::vector<TokenId> ids(std::string_view name) {
    const JsonCursor given = whole_[name];
    if (!given.is_given()) return {};
    if (const json::array* array = given.if_array()) return ids_of(given, array->size());
    return {id_of(given)};
  }
  std::vector<std::vector<TokenId>> words(std::string_view name) {
    const JsonCursor given = whole_[name];
    const std::string expected = fmt::format("an array of at most {} arrays of token ids", kMaxBadWords);
    const json::array* array = take(given.array(expected));
    if (array == nullptr) return {};
    if (array->size() > kMaxBadWords) refuse(given.wrong_value(expected));
    std::vector<std::vector<TokenId>> words;
    for (std::size_t i = 0; i < array->size() && !error_; ++i) {
      const json::array* word = given[i].if_array();
      if (word == nullptr || word->empty()) {
        refuse(given[i].wrong_type("an array of token ids"));
      } else {
        words.push_back(ids_of(given[i], word->size()));
      }
    }
    return words;
  }

  const std::optional<JsonError>& error() const { return error_; }

 private:
  void refuse(JsonError error) {
    if (!error_) error_ = std::move(error);
  }
  template <class T>
  T take(JsonResult<T> read) {
    if (read) return *read;
    refuse(std::move(read.error()));
    return T();
  }
  TokenId id_of(const JsonCursor& given) {
    const std::optional<std::int64_t> id = given.is_given() ? as_integer(*given.value()) : std::nullopt;
    if (id && *id >= 0 && *id <= largest_id_) return static_cast<TokenId>(*id);
    refuse(given.wrong_type(fmt::format("a token id from 0 to {}", largest_id_)));
    return -1;
  }
  std::vector<TokenId> ids_of(const JsonCursor& given, std::size_t count) {
    std::vector<TokenId> ids;
    ids.reserve(count);
    for (std::size_t i = 0; i < count && !error_; ++i) ids.push_back(id_of(given[i]));
    return ids;
  }

  const JsonCursor whole_;
  const std::int64_t largest_id_;
  std::optional<JsonError> error_;
};

}  // namespace

Result<SamplingDefaults> parse_generation_config(std::string_view text, int num_tokens) {
  const auto object = parse_json_object(text, {.max_bytes = kMaxGenerationConfigBytes});
  if (!object) return fail("{}", object.error().message);
  ConfigReader fields(*object, num_tokens);
  SamplingDefaults defaults{.temperature = fields.number("temperature"),
                            .top_k = fields.count("top_k"),
                            .top_p = fields.number("top_p"),
                            .min_p = fields.number("min_p"),
                            .typical_p = fields.number("typical_p"),
                            .repetition_penalty = fields.number("repetition_penalty"),
                            .suppressed = fields.ids("suppress_tokens"),
                            .end_tokens = fields.ids("eos_token_id"),
                            .bad_words = fields.words("bad_words_ids")};
  if (fields.error()) return fail("{}", fields.error()->message);
  if (const Result<void> valid = check_sampling_params(defaults.over({})); !valid)
    return fail("{}", valid.error().message);
  return defaults;
}

}  // namespace octavo
