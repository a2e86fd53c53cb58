#include "constraint/constraint_rules.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <map>
#include <optional>
#include <string_view>
#include <tuple>
#include <utility>

#include "base/text.h"
#include "constraint/grammar/json_grammar.h"
#include "constraint/grammar/text_without.h"
#include "constraint/regex/character_dfa.h"

namespace octavo {
namespace {

/// The values of a grammar, in each notation that its rules use.
class Notations {
 public:
  explicit Notations(Grammar& grammar) : grammar_(grammar) {}

  Result<JsonGrammar*> of(const ConstraintRule& rule) {
    const bool is_marked = rule.notation == ValueNotation::kMarked;
    if (rule.texts.size() != (is_marked ? 1U : 0U))
      return fail("found {} texts, expected {}", rule.texts.size(), is_marked ? "a mark" : "none");
    JsonForm form{.notation = rule.notation};
    if (is_marked) form.mark = rule.texts.back();
    if (is_marked && rule.mark_token >= 0) form.mark_token = rule.mark_token;
    const auto known = std::ranges::find(grammars_, form, &JsonGrammar::form);
    if (known != grammars_.end()) return &*known;
    if (is_marked) {
      const auto checked = text_without({&form.mark, 1}, grammar_);
      if (!checked) return std::unexpected(checked.error());
    }
    return &grammars_.emplace_back(grammar_, std::move(form));
  }

 private:
  Grammar& grammar_;
  std::deque<JsonGrammar> grammars_;
};

/// The name of a rule in warnings.
std::string_view name_of(const ConstraintRule& rule) { return rule.origin.empty() ? rule.name : rule.origin; }

/// The schemas of a source, each read once for all rules that use parts of it in one notation.
class Schemas {
 public:
  Schemas(const ConstraintSource& source, std::vector<std::string>& warnings)
      : texts_(source.schemas), others_(others_of(source)), warnings_(warnings) {}

  Result<ExpressionId> value(const ConstraintRule& rule, JsonGrammar& json) {
    if (rule.schema >= texts_.size()) return fail("found the schema {} of {}", rule.schema, texts_.size());
    Read& read = read_[{rule.schema, rule.is_strict, &json}];
    if (!read.parts) {
      const auto strictness = rule.is_strict ? SchemaStrictness::kStrict : SchemaStrictness::kLoose;
      OCTAVO_TRY(read.parts, JsonSchemaParts::read(texts_[rule.schema], strictness, json, read.warnings, others_));
    }
    OCTAVO_TRY(const ExpressionId value, read.parts->value(rule.place));
    for (const std::string& warning : std::exchange(read.warnings, {}))
      warnings_.push_back(fmt::format("{}: {}", name_of(rule), warning));
    return value;
  }

 private:
  struct Read {
    std::vector<std::string> warnings = {};  // warnings about the part that is asked for
    std::optional<JsonSchemaParts> parts = {};
  };

  const std::vector<std::string>& texts_;
  const OtherNames others_;
  std::vector<std::string>& warnings_;
  std::map<std::tuple<std::size_t, bool, const JsonGrammar*>, Read> read_;
};

/// The pattern that finds a text.
std::string pattern_of_text(std::string_view text) {
  std::string pattern;
  for (const char c : text) {
    if (std::string_view("^$\\.*+?()[]{}|/").contains(c)) pattern += '\\';
    pattern += c;
  }
  return pattern;
}

/// Texts that match and do not have the mark. No value: they take too many states.
Result<std::optional<CharacterDfa>> matching_texts(const std::string& pattern, std::string_view mark,
                                                   CompileWork& work) {
  OCTAVO_TRY(const auto matching, CharacterDfa::of_pattern(pattern, RegexReach::kSomewhere, work));
  OCTAVO_TRY(const auto marked, CharacterDfa::of_pattern(pattern_of_text(mark), RegexReach::kSomewhere, work));
  if (!matching || !marked) return std::nullopt;
  return matching->intersection(marked->complement(), work);
}

Result<ExpressionId> text_matching(const ConstraintRule& rule, Grammar& grammar, std::vector<std::string>& warnings) {
  if (rule.texts.size() != 2) return fail("found {} texts, expected a pattern and a mark", rule.texts.size());
  const auto texts = matching_texts(rule.texts[0], rule.texts[1], grammar.work());
  if (texts && *texts && !(*texts)->is_empty())
    return (*texts)->write([](Grammar& to, const CodePointSet& set) { return to.set(set); }, grammar);
  const std::string why = !texts   ? texts.error().message
                          : *texts ? "no text matches the pattern"
                                   : "the pattern takes too many states";
  if (rule.is_strict) return fail("pattern {}: {}", quote(rule.texts[0]), why);
  warnings.push_back(fmt::format("{}: pattern {}: not enforced: {}", name_of(rule), quote(rule.texts[0]), why));
  return text_without({&rule.texts[1], 1}, grammar);
}

Result<ExpressionId> read_rule(const ConstraintRule& rule, Grammar& grammar, Notations& notations, Schemas& schemas,
                               std::vector<std::string>& warnings) {
  if (rule.kind == ConstraintRule::Kind::kTextWithout) return text_without(rule.texts, grammar);
  if (rule.kind == ConstraintRule::Kind::kTextMatching) return text_matching(rule, grammar, warnings);
  OCTAVO_TRY(JsonGrammar * json, notations.of(rule));
  return schemas.value(rule, *json);
}

}  // namespace

OtherNames others_of(const ConstraintSource& source) {
  return source.closes_objects ? OtherNames::kClosed : OtherNames::kAsWritten;
}

Result<void> define_rules(const ConstraintSource& source, Grammar& grammar, std::vector<std::string>& warnings) {
  std::map<std::string, RuleId, std::less<>> named;
  for (std::size_t i = 0; i < grammar.rules().size(); ++i)
    if (!grammar.rules()[i].is_defined) named.emplace(grammar.rules()[i].name, static_cast<RuleId>(i));
  Notations notations(grammar);
  Schemas schemas(source, warnings);
  for (const ConstraintRule& rule : source.rules) {
    const auto found = named.find(rule.name);
    if (found == named.end())
      return fail("rule {}: found it nowhere in the grammar or defined there, expected it to be named alone",
                  quote(rule.name));
    auto body = read_rule(rule, grammar, notations, schemas, warnings);
    if (!body && !rule.origin.empty()) return fail("{}: {}", rule.origin, body.error().message);
    if (!body) return fail("rule {}: {}", quote(rule.name), body.error().message);
    grammar.define(found->second, *body);
    named.erase(found);
  }
  return {};
}

}  // namespace octavo
