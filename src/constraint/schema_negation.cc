// What it is to break a schema: one of its keywords does not hold.
#include <algorithm>
#include <iterator>

#include "constraint/schema_expander.h"

namespace octavo {
namespace {

constexpr std::uint64_t kStepsOfName = 8;  // each is sorted in

void append(SchemaWays& to, SchemaWays from) {
  to.insert(to.end(), std::make_move_iterator(from.begin()), std::make_move_iterator(from.end()));
}

void require(SchemaFacts& way, std::string_view name) {
  way.types &= kObjectType;
  way.required.add(name);
}

}  // namespace

SchemaWays SchemaExpander::without_schema(NodeId schema, const SchemaWays& ways) {
  if (tree_.is(schema, Kind::kTrue)) return {};
  if (tree_.is(schema, Kind::kFalse)) return ways;
  if (!tree_.is(schema, Kind::kObject)) {
    report_.refuse(schema, "a schema: an object, true or false");
    return {};
  }
  SchemaWays found;
  std::optional<NodeId> given_up;
  for (const NodeId keyword : tree_.at(schema).children) {
    bool is_exact = false;
    std::optional<SchemaWays> broken;
    {
      SchemaReport::Trial trial(report_);
      broken = without_keyword(schema, keyword, ways);
      is_exact = broken && !trial.failed();
      if (is_exact) trial.keep();
    }
    if (is_exact) append(found, std::move(*broken));
    if (!is_exact) given_up = keyword;
    if (!is_bounded(keyword, found)) return ways;
  }
  std::erase_if(found, is_contradiction);
  if (given_up && found.empty()) {
    report_.cannot_hold(*given_up, "it cannot be turned round");
    return ways;
  }
  if (given_up) report_.narrows(*given_up, "texts that break this alone are not made");
  return found;
}

std::optional<SchemaWays> SchemaExpander::without_keyword(NodeId schema, NodeId keyword, const SchemaWays& ways) {
  const std::string& name = tree_.at(keyword).key;
  if (name == "$ref") return with_reference(schema, keyword, true, copy_of(ways));
  if (name == "anyOf") return with_all(keyword, true, copy_of(ways));
  if (name == "allOf") return with_any(keyword, true, ways);
  if (name == "not") return with({.node = keyword}, copy_of(ways));
  if (name == "properties") return without_members(keyword, ways);
  if (name == "additionalProperties") return without_other_members(schema, keyword, ways);
  if (name == "items" && !tree_.is(keyword, Kind::kArray) && !tree_.find(schema, "prefixItems")) {
    SchemaWays found = copy_of(ways);
    for (SchemaFacts& way : found) {
      way.types &= kArrayType;
      way.contained.push_back({.schema = {.node = keyword, .is_negated = true}, .keyword = keyword});
    }
    return found;
  }
  if (name == "required") {
    if (!tree_.is(keyword, Kind::kArray)) return SchemaWays();
    SchemaWays found;
    for (const NodeId required : tree_.at(keyword).children) {
      for (SchemaFacts& way : copy_of(ways)) {
        way.types &= kObjectType;
        way.forbidden.add(tree_.at(required).text);
        found.push_back(std::move(way));
      }
      if (!is_bounded(keyword, found)) return std::nullopt;
    }
    return found;
  }
  static constexpr std::string_view kOthers[] = {"oneOf",
                                                 "if",
                                                 "items",
                                                 "prefixItems",
                                                 "additionalItems",
                                                 "contains",
                                                 "uniqueItems",
                                                 "propertyNames",
                                                 "patternProperties",
                                                 "dependentSchemas",
                                                 "dependentRequired",
                                                 "dependencies",
                                                 "unevaluatedProperties",
                                                 "unevaluatedItems",
                                                 "$dynamicRef",
                                                 "$recursiveRef",
                                                 "multipleOf"};
  if (std::ranges::find(kOthers, name) != std::end(kOthers)) return std::nullopt;
  SchemaWays found;
  for (SchemaFacts& way : copy_of(ways))
    if (fail_keyword(tree_, schema, keyword, report_, way)) found.push_back(std::move(way));
  return found;
}

/// A member is there and breaks its schema.
SchemaWays SchemaExpander::without_members(NodeId keyword, const SchemaWays& ways) {
  SchemaWays found;
  for (const NodeId property : tree_.at(keyword).children) {
    if (tree_.is(property, Kind::kTrue)) continue;
    if (tree_.is(property, Kind::kObject) && tree_.at(property).children.empty()) continue;
    for (SchemaFacts& way : copy_of(ways)) {
      require(way, tree_.at(property).key);
      way.member_tests.push_back({tree_.at(property).key, {.node = property, .is_negated = true}});
      found.push_back(std::move(way));
    }
    if (!is_bounded(keyword, found)) return found;
  }
  return found;
}

/// A member that the schema does not name is there and breaks `additionalProperties`. Only those are tried that the
/// other schemas name.
std::optional<SchemaWays> SchemaExpander::without_other_members(NodeId schema, NodeId keyword, const SchemaWays& ways) {
  if (tree_.find(schema, "patternProperties")) return std::nullopt;
  const auto properties = tree_.find(schema, "properties");
  SchemaWays found;
  for (const SchemaFacts& way : ways) {
    bool is_closed = false;
    std::vector<std::string_view> names(way.required.names().begin(), way.required.names().end());
    for (const NodeId layer : way.object_layers) {
      const auto others = tree_.find(layer, "additionalProperties"), known = tree_.find(layer, "properties");
      is_closed = is_closed || (others && tree_.is(*others, Kind::kFalse) && !tree_.find(layer, "patternProperties"));
      if (!known) continue;
      for (const NodeId member : tree_.at(*known).children) names.emplace_back(tree_.at(member).key);
      report_.work().add(tree_.at(*known).children.size() * kStepsOfName);
    }
    if (!is_closed && way.has(kObjectType)) report_.cannot_hold(keyword, "found other members that may be there");
    std::ranges::sort(names);
    const auto rest = std::ranges::unique(names);
    names.erase(rest.begin(), rest.end());
    for (const std::string_view name : names) {
      report_.work().add(kStepsOfName + names.size() / 8);
      if (properties && tree_.find(*properties, name)) continue;
      SchemaFacts with_it = way;
      require(with_it, name);
      with_it.member_tests.push_back({name, {.node = keyword, .is_negated = true}});
      found.push_back(std::move(with_it));
    }
    if (!is_bounded(keyword, found)) return std::nullopt;
  }
  return found;
}

}  // namespace octavo
