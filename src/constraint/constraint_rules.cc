#include "constraint/constraint_rules.h"

#include <algorithm>
#include <deque>
#include <map>
#include <string_view>
#include <utility>

#include "base/text.h"
#include "constraint/json_grammar.h"
#include "constraint/json_schema.h"
#include "constraint/text_without.h"

namespace octavo {
namespace {

/// A grammar's values, in each notation that its rules have.
class Notations {
 public:
  explicit Notations(Grammar& grammar) : grammar_(grammar) {}

  Result<JsonGrammar*> of(const ConstraintRule& rule) {
    const bool is_marked = rule.notation == ValueNotation::kMarked;
    if (rule.texts.size() != (is_marked ? 2U : 1U))
      return fail("found {} texts, expected a schema{}", rule.texts.size(), is_marked ? " and a mark" : "");
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

Result<ExpressionId> read_rule(const ConstraintRule& rule, Grammar& grammar, Notations& notations,
                               std::vector<std::string>& warnings) {
  if (rule.kind == ConstraintRule::Kind::kTextWithout) return text_without(rule.texts, grammar);
  OCTAVO_TRY(JsonGrammar * json, notations.of(rule));
  const auto strictness = rule.is_strict ? SchemaStrictness::kStrict : SchemaStrictness::kLoose;
  std::vector<std::string> own;
  OCTAVO_TRY(const ExpressionId value, read_json_schema(rule.texts.front(), strictness, *json, own));
  for (const std::string& warning : own) warnings.push_back(rule.name + ": " + warning);
  return value;
}

}  // namespace

Result<void> define_rules(std::span<const ConstraintRule> rules, Grammar& grammar, std::vector<std::string>& warnings) {
  std::map<std::string, RuleId, std::less<>> named;
  for (std::size_t i = 0; i < grammar.rules().size(); ++i)
    if (!grammar.rules()[i].is_defined) named.emplace(grammar.rules()[i].name, static_cast<RuleId>(i));
  Notations notations(grammar);
  for (const ConstraintRule& rule : rules) {
    const auto found = named.find(rule.name);
    if (found == named.end())
      return fail("rule {}: found it nowhere in the grammar or defined there, expected it to be named alone",
                  quote(rule.name));
    auto body = read_rule(rule, grammar, notations, warnings);
    if (!body) return fail("rule {}: {}", quote(rule.name), body.error().message);
    grammar.define(found->second, *body);
    named.erase(found);
  }
  return {};
}

}  // namespace octavo
