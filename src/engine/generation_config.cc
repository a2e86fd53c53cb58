#include "engine/generation_config.h"

#include <cmath>
#include <limits>
#include <ranges>
#include <string>
#include <utility>

#include "json/json_text.h"
#include "sampler/sampler.h"

namespace octavo {
namespace {

std::string shown(const TemplateValue& value) {
  constexpr std::size_t kMaxShown = 60;
  std::string text = write_json(value);
  if (text.size() > kMaxShown) text = text.substr(0, kMaxShown) + "...";
  return text;
}

/// Reads fields of one object, which are looked for one by one: a table of them could be made to collide. The first
/// error is kept.
class Fields {
 public:
  Fields(const TemplateDict& object, int num_tokens)
      : object_(object), largest_id_(num_tokens > 0 ? num_tokens - 1 : std::numeric_limits<TokenId>::max()) {}

  std::optional<float> number(std::string_view name) {
    const TemplateValue* value = find(name);
    if (value == nullptr) return std::nullopt;
    std::optional<double> number;
    if (const auto* real = std::get_if<double>(value)) number = *real;
    if (const auto* integer = std::get_if<std::int64_t>(value)) number = static_cast<double>(*integer);
    if (number && std::abs(*number) <= 1e30) return static_cast<float>(*number);
    refuse(name, *value, "a number");
    return std::nullopt;
  }
  std::optional<int> count(std::string_view name) {
    const TemplateValue* value = find(name);
    if (value == nullptr) return std::nullopt;
    const auto* count = std::get_if<std::int64_t>(value);
    if (count != nullptr && *count >= 0 && *count <= std::numeric_limits<int>::max()) return static_cast<int>(*count);
    refuse(name, *value, "an integer of at least 0");
    return std::nullopt;
  }
  /// One id, or an array of them.
  std::vector<TokenId> ids(std::string_view name) {
    const TemplateValue* value = find(name);
    if (value == nullptr) return {};
    if (const auto* list = std::get_if<TemplateList>(value)) return ids_of(std::string(name), *list);
    return ids_of(std::string(name), {*value});
  }
  std::vector<std::vector<TokenId>> words(std::string_view name) {
    const TemplateValue* value = find(name);
    if (value == nullptr) return {};
    const auto* list = std::get_if<TemplateList>(value);
    if (list == nullptr || list->size() > kMaxBadWords) {
      refuse(name, *value, fmt::format("an array of at most {} arrays of token ids", kMaxBadWords));
      return {};
    }
    std::vector<std::vector<TokenId>> words;
    for (std::size_t i = 0; i < list->size() && !error_; ++i) {
      const std::string place = fmt::format("{}[{}]", name, i);
      const auto* word = std::get_if<TemplateList>(&(*list)[i]);
      if (word == nullptr || word->empty()) {
        refuse(place, (*list)[i], "an array of token ids");
      } else {
        words.push_back(ids_of(place, *word));
      }
    }
    return words;
  }

  const std::optional<Error>& error() const { return error_; }

 private:
  /// Of two equal names the last counts. Null: absent, or null.
  const TemplateValue* find(std::string_view name) const {
    for (const auto& [key, value] : std::views::reverse(object_))
      if (key == name) return std::holds_alternative<std::monostate>(value) ? nullptr : &value;
    return nullptr;
  }
  void refuse(std::string_view name, const TemplateValue& found, std::string_view expected) {
    if (!error_) error_ = Error{fmt::format("{}: found {}, expected {}", name, shown(found), expected)};
  }
  std::vector<TokenId> ids_of(const std::string& name, const TemplateList& list) {
    std::vector<TokenId> ids;
    ids.reserve(list.size());
    for (const TemplateValue& value : list) {
      const auto* id = std::get_if<std::int64_t>(&value);
      if (id == nullptr || *id < 0 || *id > largest_id_) {
        refuse(fmt::format("{}[{}]", name, ids.size()), value, fmt::format("a token id from 0 to {}", largest_id_));
        return {};
      }
      ids.push_back(static_cast<TokenId>(*id));
    }
    return ids;
  }

  const TemplateDict& object_;
  const std::int64_t largest_id_;
  std::optional<Error> error_;
};

}  // namespace

Result<SamplingDefaults> parse_generation_config(std::string_view text, int num_tokens) {
  if (text.size() > kMaxGenerationConfigBytes)
    return fail("found {} bytes, expected at most {}", text.size(), kMaxGenerationConfigBytes);
  std::size_t values_left = text.size();  // each takes a byte at least, so the bound on bytes is one on values
  OCTAVO_TRY(const TemplateValue value, read_json(text, values_left));
  const auto* object = std::get_if<TemplateDict>(&value);
  if (object == nullptr) return fail("found {}, expected an object", shown(value));
  Fields fields(*object, num_tokens);
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
