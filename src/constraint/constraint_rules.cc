#include "constraint/constraint_rules.h"

#include <map>
#include <string_view>
#include <utility>

#include "base/text.h"
#include "constraint/json_grammar.h"
#include "constraint/json_schema.h"
#include "constraint/text_without.h"

namespace octavo {
namespace {

Result<ExpressionId> read_rule(const ConstraintRule& rule, JsonGrammar& json, std::vector<std::string>& warnings) {
  if (rule.kind == ConstraintRule::Kind::kTextWithout) return text_without(rule.texts, json.grammar());
  if (rule.texts.size() != 1) return fail("found {} schemas, expected one", rule.texts.size());
  const auto strictness = rule.is_strict ? SchemaStrictness::kStrict : SchemaStrictness::kLoose;
  std::vector<std::string> own;
  OCTAVO_TRY(const ExpressionId value, read_json_schema(rule.texts.front(), strictness, json, own));
  for (const std::string& warning : own) warnings.push_back(rule.name + ": " + warning);
  return value;
}

}  // namespace

Result<void> define_rules(std::span<const ConstraintRule> rules, Grammar& grammar, std::vector<std::string>& warnings) {
  std::map<std::string, RuleId, std::less<>> named;
  for (std::size_t i = 0; i < grammar.rules().size(); ++i)
    if (!grammar.rules()[i].is_defined) named.emplace(grammar.rules()[i].name, static_cast<RuleId>(i));
  JsonGrammar json(grammar);
  for (const ConstraintRule& rule : rules) {
    const auto found = named.find(rule.name);
    if (found == named.end())
      return fail("rule {}: found it nowhere in the grammar or defined there, expected it to be named alone",
                  quote(rule.name));
    auto body = read_rule(rule, json, warnings);
    if (!body) return fail("rule {}: {}", quote(rule.name), body.error().message);
    grammar.define(found->second, *body);
    named.erase(found);
  }
  return {};
}

}  // namespace octavo
