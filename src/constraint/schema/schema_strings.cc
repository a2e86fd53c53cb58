#include "constraint/schema/schema_strings.h"

#include <algorithm>
#include <utility>

#include "constraint/regex/regex.h"

namespace octavo {
namespace {

/// Whether the lengths of all texts are within the limits.
bool has_lengths(const CharacterDfa& texts, std::uint32_t min, std::uint32_t max) {
  if (texts.shortest() < min) return false;
  if (max == SchemaFacts::kNoLimit) return true;
  const auto longest = texts.longest();
  return longest && *longest <= max;
}

}  // namespace

CharacterWriter SchemaStrings::character_writer() {
  JsonGrammar* json = &parts_.json;
  return [json](Grammar&, const CodePointSet& set) { return json->character(set); };
}

ExpressionId SchemaStrings::quoted(const CharacterDfa& texts) {
  return parts_.json.quoted(texts.write(character_writer(), grammar_));
}

/// Writes strings. Ways with the same demands share a rule: what is found for the masks of one counts for all.
ExpressionId SchemaStrings::write(const SchemaFacts& way) {
  std::vector<std::string> other_texts;
  for (const JsonTree::NodeId value : way.other_values) {
    grammar_.work().add(1 + parts_.tree.at(value).text.size() / 8);
    if (parts_.tree.is(value, JsonTree::Kind::kString)) other_texts.push_back(parts_.tree.at(value).text);
  }
  const std::string key = key_of(way, other_texts);
  const auto known = strings_.find(key);
  if (known != strings_.end()) return known->second;
  const std::size_t num_found = parts_.report.num_found();
  ExpressionId made = make(way, other_texts);
  if (parts_.report.num_found() != num_found) return made;  // so that the next place gets the warning, too
  if (made != Grammar::nothing()) made = grammar_.named("string", made);
  return strings_.emplace(key, made).first->second;
}

std::string SchemaStrings::key_of(const SchemaFacts& way, std::span<const std::string> other_texts) const {
  std::string key = fmt::format("{} {}", way.min_length, way.max_length);
  for (const TextTest& test : way.text_tests) {
    const std::string& text = parts_.tree.at(test.keyword).text;
    grammar_.work().add(1 + text.size() / 8);
    key += fmt::format(" {}{}{}:{}", test.is_negated ? "!" : "", test.is_format ? "f" : "p", text.size(), text);
  }
  for (const std::string& text : other_texts) key += fmt::format(" o{}:{}", text.size(), text);
  return key;
}

ExpressionId SchemaStrings::make(const SchemaFacts& way, std::span<const std::string> other_texts) {
  if (!way.text_tests.empty() || !other_texts.empty()) {
    if (const auto whole = untangled_text(way, other_texts)) return *whole;
    if (const auto texts = tested_texts(way, other_texts))
      return texts->is_empty() ? Grammar::nothing() : quoted(*texts);
  }
  if (way.min_length > way.max_length) return Grammar::nothing();
  if (way.min_length == 0 && way.max_length == SchemaFacts::kNoLimit) return parts_.json.string();
  return parts_.json.quoted(parts_.json.characters(way.min_length, way.max_length));
}

/// Writes a text whose only demand is a pattern: that needs no automaton over characters, which may be much larger than
/// the pattern.
std::optional<ExpressionId> SchemaStrings::untangled_text(const SchemaFacts& way,
                                                          std::span<const std::string> other_texts) {
  const bool is_alone = way.text_tests.size() == 1 && other_texts.empty() && way.min_length == 0 &&
                        way.max_length == SchemaFacts::kNoLimit;
  if (!is_alone) return std::nullopt;
  const TextTest& test = way.text_tests.front();
  if (test.is_negated || test.is_format || parts_.texts.of_pattern(test.keyword) != nullptr) return std::nullopt;
  const auto text = read_regex(parts_.tree.at(test.keyword).text, RegexReach::kSomewhere, character_writer(), grammar_);
  if (!text) return std::nullopt;
  return parts_.json.quoted(*text);
}

std::optional<CharacterDfa> SchemaStrings::tested_texts(const SchemaFacts& way,
                                                        std::span<const std::string> other_texts) {
  std::optional<CharacterDfa> texts;
  const auto narrow = [&](const CharacterDfa& to) {
    auto common = texts ? parts_.texts.both(*texts, to) : std::optional(to);
    if (!common) return false;
    texts = std::move(common);
    return true;
  };
  for (const TextTest& test : way.text_tests) {
    const CharacterDfa* known =
        test.is_format ? parts_.texts.of_format(test.keyword) : parts_.texts.of_pattern(test.keyword);
    if (known == nullptr) {
      parts_.report.cannot_hold(test.keyword, test.is_format ? "the format is not supported" : parts_.texts.why_not());
    } else if (!narrow(test.is_negated ? known->complement() : *known)) {
      parts_.report.cannot_hold(test.keyword, "together with the other patterns it takes too many states");
    }
  }
  if (!other_texts.empty()) {
    const auto others = parts_.texts.all_but(other_texts);
    if (!others || !narrow(*others))
      parts_.report.cannot_hold(way.other_values.front(), "the texts to be left out take too many states");
  }
  if (texts) grammar_.work().add(3 * texts->num_transitions());
  if (!texts || texts->is_empty() || has_lengths(*texts, way.min_length, way.max_length)) return texts;
  const auto lengths = CharacterDfa::of_lengths(way.min_length, way.max_length);
  if (!lengths || !narrow(*lengths)) {
    const JsonTree::NodeId at = way.text_tests.empty() ? way.other_values.front() : way.text_tests.front().keyword;
    parts_.report.cannot_hold(at, "together with minLength and maxLength it takes too many states");
  }
  return texts;
}

}  // namespace octavo
