#include "source/folder/word_keys.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <optional>

namespace octavo {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kMaxWordsBytes = std::uint64_t{256} << 20;  // of tokenizer.json; real ones have 30 million
constexpr std::uint64_t kMaxTextBytes = std::uint64_t{4} << 20;     // the most bytes of the other files
constexpr std::size_t kMaxValues = std::size_t{1} << 18;            // the most values of the other JSON files

Result<std::optional<std::string>> read_if_there(const fs::path& path, std::uint64_t most) {
  std::error_code ignored;
  if (!fs::exists(path, ignored)) return std::nullopt;
  OCTAVO_TRY(std::string text, read_text_file(path, most));
  return text;
}

/// The default template where there are several; otherwise the only one.
Result<std::optional<std::string>> template_of(const JsonObject& settings) {
  const TemplateValue* value = settings.find("chat_template");
  if (value == nullptr) return std::nullopt;
  if (const auto* text = std::get_if<std::string>(value)) return *text;
  const auto* list = std::get_if<TemplateList>(value);
  if (list == nullptr)
    return fail("{} is {}, expected a text or a list", settings.place("chat_template"), describe_json(*value));
  const std::string place = settings.place("chat_template");
  for (const TemplateValue& element : *list) {
    OCTAVO_TRY(const JsonObject named, JsonObject::of(element, place));
    OCTAVO_TRY(const std::string_view name, named.text("name"));
    if (name != "default") continue;
    OCTAVO_TRY(const std::string_view text, named.text("template"));
    return std::string(text);
  }
  return std::nullopt;
}

Result<void> add_to(std::vector<std::int32_t>& ids, const TemplateList& list, const std::string& place) {
  for (const TemplateValue& element : list) {
    const auto* id = std::get_if<std::int64_t>(&element);
    if (id == nullptr || *id < 0 || *id > std::numeric_limits<std::int32_t>::max())
      return fail("{} has {}, expected token ids", place, describe_json(element));
    ids.push_back(static_cast<std::int32_t>(*id));
  }
  return {};
}

/// The ids of a member that is one id, or a list of them.
Result<std::vector<std::int32_t>> ids_of(const JsonObject& object, std::string_view name) {
  std::vector<std::int32_t> ids;
  const TemplateValue* value = object.find(name);
  if (value == nullptr) return ids;
  const auto* list = std::get_if<TemplateList>(value);
  OCTAVO_TRY_VOID(add_to(ids, list == nullptr ? TemplateList{*value} : *list, object.place(name)));
  return ids;
}

/// The ids of `bad_words_ids`, a list of lists of ids: one list after another, each with a -1 at its end.
Result<std::vector<std::int32_t>> bad_words_of(const JsonObject& settings) {
  constexpr std::string_view kName = "bad_words_ids";
  std::vector<std::int32_t> ids;
  const TemplateValue* value = settings.find(kName);
  if (value == nullptr) return ids;
  const std::string place = settings.place(kName);
  const auto* words = std::get_if<TemplateList>(value);
  if (words == nullptr) return fail("{} is {}, expected a list of lists of token ids", place, describe_json(*value));
  for (const TemplateValue& word : *words) {
    const auto* list = std::get_if<TemplateList>(&word);
    if (list == nullptr || list->empty())
      return fail("{} has {}, expected lists of token ids", place, describe_json(word));
    OCTAVO_TRY_VOID(add_to(ids, *list, place));
    ids.push_back(-1);
  }
  return ids;
}

/// The id of tokenizer_config.json's `eos_token`, a text or an object with `content`, by `added_tokens_decoder`; none:
/// there is no eos_token, or it is no added token.
Result<std::optional<std::int32_t>> end_of_tokenizer(const JsonObject& settings) {
  const TemplateValue* token = settings.find("eos_token");
  if (const auto* object = token == nullptr ? nullptr : std::get_if<TemplateDict>(token))
    token = JsonObject(*object, settings.place("eos_token")).find("content");
  const auto* text = token == nullptr ? nullptr : std::get_if<std::string>(token);
  OCTAVO_TRY(const auto added, settings.object_if("added_tokens_decoder"));
  if (text == nullptr || !added) return std::nullopt;
  for (const auto& [id, value] : added->members()) {
    const auto* members = std::get_if<TemplateDict>(&value);
    if (members == nullptr) continue;
    const TemplateValue* content = JsonObject(*members, settings.place("added_tokens_decoder")).find("content");
    const auto* spelled = content == nullptr ? nullptr : std::get_if<std::string>(content);
    std::int32_t number = -1;
    const auto [end, error] = std::from_chars(id.data(), id.data() + id.size(), number);
    const bool is_id = error == std::errc() && end == id.data() + id.size() && number >= 0;
    if (is_id && spelled != nullptr && *spelled == *text) return number;
  }
  return std::nullopt;
}

/// Adds the end tokens: the first one is EOS, all of them end an answer.
void add_ends(const std::vector<std::int32_t>& ends, DirectoryBuilder& out) {
  if (ends.empty()) return;
  out.add_u32("tokenizer.ggml.eos_token_id", static_cast<std::uint64_t>(ends.front()));
  if (ends.size() > 1) out.add_i32s("tokenizer.ggml.eos_token_ids", ends);
}

/// Adds the ids of an object. `ends` gets the end tokens, unless it has some.
Result<void> add_ids(const JsonObject& object, DirectoryBuilder& out, std::vector<std::int32_t>& ends) {
  if (ends.empty()) {
    OCTAVO_TRY(ends, ids_of(object, "eos_token_id"));
  }
  OCTAVO_TRY(const std::vector<std::int32_t> begin, ids_of(object, "bos_token_id"));
  if (begin.size() == 1 && out.directory().find("tokenizer.ggml.bos_token_id") == nullptr)
    out.add_u32("tokenizer.ggml.bos_token_id", static_cast<std::uint64_t>(begin.front()));
  return {};
}

Result<void> add_sampling(const JsonObject& settings, DirectoryBuilder& out) {
  constexpr std::pair<std::string_view, std::string_view> kNumbers[] = {
      {"temperature", "temp"}, {"top_p", "top_p"}, {"min_p", "min_p"}, {"repetition_penalty", "penalty_repeat"}};
  for (const auto& [from, to] : kNumbers) {
    OCTAVO_TRY(const auto number, settings.number_if(from));
    if (number) out.add_f32(fmt::format("general.sampling.{}", to), *number);
  }
  OCTAVO_TRY(const auto top_k, settings.size_if("top_k"));
  if (top_k) out.add_u32("general.sampling.top_k", *top_k);
  OCTAVO_TRY(const std::vector<std::int32_t> suppressed, ids_of(settings, "suppress_tokens"));
  if (!suppressed.empty()) out.add_i32s("tokenizer.ggml.suppress_tokens", suppressed);
  OCTAVO_TRY(const std::vector<std::int32_t> bad_words, bad_words_of(settings));
  if (!bad_words.empty()) out.add_i32s("general.sampling.bad_words_ids", bad_words);
  return {};
}

}  // namespace

Result<void> add_word_keys(const fs::path& folder, const JsonObject& config, DirectoryBuilder& out,
                           std::vector<std::string>& texts) {
  OCTAVO_TRY(std::optional<std::string> words, read_if_there(folder / "tokenizer.json", kMaxWordsBytes));
  if (words) out.add_text("tokenizer.huggingface.json", std::move(*words));

  OCTAVO_TRY(std::optional<std::string> jinja, read_if_there(folder / "chat_template.jinja", kMaxTextBytes));
  const fs::path settings_path = folder / "tokenizer_config.json";
  OCTAVO_TRY(const auto settings_text, read_if_there(settings_path, kMaxTextBytes));
  std::optional<std::int32_t> end_of_words;
  if (settings_text) {
    OCTAVO_TRY(const TemplateValue value, read_json_object(*settings_text, settings_path, kMaxValues));
    const std::string name = settings_path.string();
    const JsonObject settings(std::get<TemplateDict>(value), name);
    if (!jinja) {
      OCTAVO_TRY(jinja, template_of(settings));
    }
    OCTAVO_TRY(end_of_words, end_of_tokenizer(settings));
    texts.push_back(*settings_text);
  }
  if (jinja) {
    texts.push_back(*jinja);
    out.add_text("tokenizer.chat_template", std::move(*jinja));
  }

  std::vector<std::int32_t> ends;
  const fs::path generation_path = folder / "generation_config.json";
  OCTAVO_TRY(const auto generation_text, read_if_there(generation_path, kMaxTextBytes));
  if (generation_text) {
    OCTAVO_TRY(const TemplateValue value, read_json_object(*generation_text, generation_path, kMaxValues));
    const std::string name = generation_path.string();
    const JsonObject generation(std::get<TemplateDict>(value), name);
    OCTAVO_TRY_VOID(add_ids(generation, out, ends));
    OCTAVO_TRY_VOID(add_sampling(generation, out));
    texts.push_back(*generation_text);
  }
  OCTAVO_TRY_VOID(add_ids(config, out, ends));
  // The model's end tokens may have only the end of a document, and not the end of a turn: this one is added.
  if (end_of_words && std::ranges::find(ends, *end_of_words) == ends.end()) ends.push_back(*end_of_words);
  add_ends(ends, out);
  return {};
}

}  // namespace octavo
