#include "constraint/schema/schema_expander.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <utility>

#include "base/text.h"

namespace octavo {
namespace {

constexpr std::array<std::string_view, 3> kObjectLayer = {"properties", "patternProperties", "additionalProperties"};
constexpr std::array<std::string_view, 3> kArrayLayer = {"prefixItems", "items", "additionalItems"};

void append(SchemaWays& to, SchemaWays from) {
  to.insert(to.end(), std::make_move_iterator(from.begin()), std::make_move_iterator(from.end()));
}

std::size_t num_parts(const SchemaFacts& way) {
  return way.required.size() + way.forbidden.size() + way.member_tests.size() + way.object_layers.size() +
         way.array_layers.size() + way.other_values.size() + way.text_tests.size() + way.divisors.size() +
         (way.values ? way.values->size() : 0);
}

/// The work of copying a way, in units of the least work.
std::size_t size_of(const SchemaFacts& way) { return 1 + num_parts(way) / 16; }

constexpr std::uint64_t kStepsOfSchema = 16;
constexpr std::uint64_t kStepsOfCopy = 16;  // for each unit
constexpr std::uint64_t kStepsOfKeyword = 4;
constexpr std::uint64_t kStepsOfLayer = 16;  // four members are looked up in it
constexpr std::uint64_t kStepsOfPair = 4;
constexpr std::uint64_t kStepsOfName = 8;  // each name is sorted in

/// The order of keywords: those that make ways come after those that narrow them, and `not`, which looks at the ways,
/// comes last.
int rank_of(std::string_view keyword) {
  static constexpr std::array<std::string_view, 6> kLate = {"allOf", "$ref", "anyOf", "oneOf", "if", "not"};
  return static_cast<int>(std::ranges::find(kLate, keyword) - kLate.begin() + 1) % (static_cast<int>(kLate.size()) + 1);
}

bool have_disjoint_bounds(const SchemaFacts& a, const SchemaFacts& b) {
  const auto is_above = [](const SchemaFacts& low, const SchemaFacts& high) {
    if (!low.maximum || !high.minimum) return false;
    if (low.maximum->value == high.minimum->value) return low.maximum->is_exclusive || high.minimum->is_exclusive;
    return low.maximum->value < high.minimum->value;
  };
  return both(a.number_kind, b.number_kind) == NumberKind::kNone || is_above(a, b) || is_above(b, a);
}

bool have_disjoint_counts(std::uint32_t min_a, std::uint32_t max_a, std::uint32_t min_b, std::uint32_t max_b) {
  return min_a > max_b || min_b > max_a;
}

void require_member(SchemaFacts& way, std::string_view name) {
  way.types &= kObjectType;
  way.required.add(name);
}

}  // namespace

SchemaWays SchemaExpander::expand(const SchemaSet& schemas) {
  SchemaWays ways(1);
  for (const bool is_negated : {false, true})
    for (const SchemaTerm term : schemas)
      if (term.is_negated == is_negated) ways = with(term, std::move(ways));
  return ways;
}

bool SchemaExpander::is_bounded(NodeId at, const SchemaWays& ways) {
  std::size_t num_all = 0;
  for (const SchemaFacts& way : ways) num_all += num_parts(way);
  if (ways.size() > kMaxWays)
    report_.cannot_hold(at, fmt::format("found more than {} combinations of alternatives", kMaxWays));
  else if (num_all > kMaxParts)
    report_.cannot_hold(at, fmt::format("found combinations of alternatives with more than {} parts", kMaxParts));
  return ways.size() <= kMaxWays && num_all <= kMaxParts;
}

SchemaWays SchemaExpander::copy_of(const SchemaWays& ways) const {
  std::size_t size = 0;
  for (const SchemaFacts& way : ways) size += size_of(way);
  report_.work().add(size * kStepsOfCopy);
  return ways;
}

SchemaWays SchemaExpander::with(SchemaTerm term, SchemaWays ways) {
  if (ways.empty() || report_.failed()) return ways;
  if (!report_.work().add(kStepsOfSchema + ways.size() * kStepsOfKeyword)) return ways;
  if (std::ranges::find(open_, term) != open_.end()) {
    report_.fail_with(fmt::format("{}: found a reference to itself, expected it in a member or an element",
                                  tree_.pointer(term.node)));
    return ways;
  }
  if (open_.size() > kMaxOpen) {
    report_.fail_with(fmt::format("{}: found more than {} schemas within each other for one value",
                                  tree_.pointer(term.node), kMaxOpen));
    return ways;
  }
  open_.push_back(term);
  ways = term.is_negated ? without_schema(term.node, ways) : with_schema(term.node, std::move(ways));
  open_.pop_back();
  std::erase_if(ways, is_contradiction);
  return ways;
}

SchemaWays SchemaExpander::with_schema(NodeId schema, SchemaWays ways) {
  if (tree_.is(schema, Kind::kTrue)) return ways;
  if (tree_.is(schema, Kind::kFalse)) return {};
  if (!tree_.is(schema, Kind::kObject)) {
    report_.refuse(schema, "a schema: an object, true or false");
    return {};
  }
  const auto has_any = [&](const auto& names) {
    return std::ranges::any_of(names, [&](std::string_view name) { return tree_.find(schema, name).has_value(); });
  };
  for (SchemaFacts& way : ways) {
    if (has_any(kObjectLayer)) way.object_layers.push_back(schema);
    if (has_any(kArrayLayer)) way.array_layers.push_back(schema);
  }
  std::vector<NodeId> keywords = tree_.at(schema).children;
  report_.work().add(keywords.size() * kStepsOfKeyword);
  std::ranges::stable_sort(keywords, {}, [&](NodeId keyword) { return rank_of(tree_.at(keyword).key); });
  for (const NodeId keyword : keywords) {
    ways = with_keyword(schema, keyword, std::move(ways));
    std::erase_if(ways, is_contradiction);
    if (ways.empty() || report_.failed()) return ways;
  }
  return ways;
}

SchemaWays SchemaExpander::with_keyword(NodeId schema, NodeId keyword, SchemaWays ways) {
  const std::string_view name = tree_.at(keyword).key;
  if (name == "$ref" || name == "$dynamicRef" || name == "$recursiveRef")
    return with_reference(schema, keyword, false, std::move(ways));
  if (name == "allOf") return with_all(keyword, false, std::move(ways));
  if (name == "anyOf") return with_any(keyword, false, ways);
  if (name == "oneOf") return with_one(keyword, ways);
  if (name == "not") return with_negation(keyword, std::move(ways));
  if (name == "if") return with_condition(schema, keyword, ways);
  if (name == "dependentRequired" || name == "dependentSchemas" || name == "dependencies")
    return with_dependencies(keyword, std::move(ways));
  report_.work().add(ways.size() * kStepsOfKeyword);
  for (SchemaFacts& way : ways)
    if (!hold_keyword(tree_, schema, keyword, report_, way)) break;
  return ways;
}

SchemaWays SchemaExpander::with_reference(NodeId schema, NodeId keyword, bool is_negated, SchemaWays ways) {
  if (!tree_.is(keyword, Kind::kString)) {
    report_.refuse(keyword, "a reference");
    return ways;
  }
  const JsonTree::Node& reference = tree_.at(keyword);
  report_.work().add(reference.text.size());
  const auto target =
      reference.key == "$ref" ? refs_.resolve(schema, reference.text) : refs_.resolve_dynamic(schema, reference.text);
  if (target) return with({.node = *target, .is_negated = is_negated}, std::move(ways));
  report_.cannot_hold(keyword, fmt::format("found the reference {}, which leads to no one place in this schema",
                                           quote(tree_.at(keyword).text)));
  return ways;
}

SchemaWays SchemaExpander::with_all(NodeId keyword, bool is_negated, SchemaWays ways) {
  if (!tree_.is(keyword, Kind::kArray)) report_.refuse(keyword, "an array of schemas");
  for (const NodeId schema : tree_.at(keyword).children)
    ways = with({.node = schema, .is_negated = is_negated}, std::move(ways));
  return ways;
}

SchemaWays SchemaExpander::with_any(NodeId keyword, bool is_negated, const SchemaWays& ways) {
  if (!tree_.is(keyword, Kind::kArray)) report_.refuse(keyword, "an array of schemas");
  SchemaWays found;
  for (const NodeId schema : tree_.at(keyword).children) {
    append(found, with({.node = schema, .is_negated = is_negated}, copy_of(ways)));
    if (!is_bounded(keyword, found)) return ways;
  }
  return found;
}

SchemaWays SchemaExpander::with_one(NodeId keyword, const SchemaWays& ways) {
  if (!tree_.is(keyword, Kind::kArray)) report_.refuse(keyword, "an array of schemas");
  const std::vector<NodeId>& schemas = tree_.at(keyword).children;
  std::vector<SchemaWays> branches;
  branches.reserve(schemas.size());
  for (const NodeId schema : schemas) branches.push_back(with({.node = schema}, copy_of(ways)));
  SchemaWays found;
  for (std::size_t i = 0; i < branches.size() && !report_.failed(); ++i) {
    if (branches[i].empty()) continue;
    bool overlaps = false;
    SchemaWays only = copy_of(branches[i]);
    for (std::size_t j = 0; j < branches.size() && !report_.failed(); ++j) {
      if (i == j || are_disjoint(only, branches[j])) continue;
      SchemaReport::Trial trial(report_);
      SchemaWays rest = with({.node = schemas[j], .is_negated = true}, copy_of(only));
      overlaps = overlaps || trial.failed();
      if (trial.failed()) continue;
      only = std::move(rest);
      trial.keep();
    }
    if (overlaps)
      report_.cannot_hold(keyword, fmt::format("more than one of the alternatives may hold, {} is one of them", i));
    append(found, std::move(only));
    if (!is_bounded(keyword, found)) return ways;
  }
  return found;
}

SchemaWays SchemaExpander::with_negation(NodeId keyword, SchemaWays ways) {
  {
    SchemaReport::Trial trial(report_);
    SchemaWays rest = with({.node = keyword, .is_negated = true}, copy_of(ways));
    if (!trial.failed()) {
      trial.keep();
      return rest;
    }
  }
  report_.cannot_hold(keyword, "the schema cannot be turned round");
  return ways;
}

SchemaWays SchemaExpander::with_condition(NodeId schema, NodeId keyword, const SchemaWays& ways) {
  const auto then_schema = tree_.find(schema, "then"), else_schema = tree_.find(schema, "else");
  if (!then_schema && !else_schema) return ways;
  const auto narrowed = [&](std::optional<NodeId> branch, SchemaWays from) {
    return branch ? with({.node = *branch}, std::move(from)) : from;
  };
  SchemaWays found = narrowed(then_schema, with({.node = keyword}, copy_of(ways)));
  bool is_exact = false;
  SchemaWays otherwise;
  {
    SchemaReport::Trial trial(report_);
    otherwise = with({.node = keyword, .is_negated = true}, copy_of(ways));
    is_exact = !trial.failed();
    if (is_exact) trial.keep();
  }
  if (!is_exact) {
    report_.cannot_hold(keyword, "the condition cannot be turned round");
    otherwise = ways;
  }
  append(found, narrowed(else_schema, std::move(otherwise)));
  return is_bounded(keyword, found) ? found : ways;
}

SchemaWays SchemaExpander::with_dependencies(NodeId keyword, SchemaWays ways) {
  if (!tree_.is(keyword, Kind::kObject)) report_.refuse(keyword, "an object");
  for (const NodeId dependency : tree_.at(keyword).children) {
    const std::string& name = tree_.at(dependency).key;
    SchemaWays found;
    for (SchemaFacts& way : copy_of(ways)) {
      if (way.required.contains(name)) continue;
      way.forbidden.add(name);
      found.push_back(std::move(way));
    }
    if (tree_.is(dependency, Kind::kArray) || tree_.is(dependency, Kind::kString)) {
      SchemaWays both = copy_of(ways);
      const auto require = [&](NodeId required) {
        report_.work().add(both.size() * kStepsOfKeyword);
        for (SchemaFacts& way : both) way.required.add(tree_.at(required).text);
      };
      const auto has_room = [&](const SchemaFacts& way) {
        return way.required.size() + tree_.at(dependency).children.size() < SchemaFacts::kMaxRequired;
      };
      if (!std::ranges::all_of(both, has_room)) {
        report_.refuse(dependency, "at most 2048 names required of one object");
        return ways;
      }
      if (tree_.is(dependency, Kind::kString)) require(dependency);
      std::ranges::for_each(tree_.at(dependency).children, require);
      append(found, std::move(both));
    } else {
      append(found, with({.node = dependency}, copy_of(ways)));
    }
    if (!is_bounded(keyword, found)) return ways;
    ways = std::move(found);
  }
  return ways;
}

void SchemaExpander::add_schemas(NodeId layer, std::string_view name, SchemaSet& schemas) {
  report_.work().add(kStepsOfLayer);
  const auto properties = tree_.find(layer, "properties"), patterns = tree_.find(layer, "patternProperties"),
             others = tree_.find(layer, "additionalProperties");
  const auto property = properties ? tree_.find(*properties, name) : std::nullopt;
  bool is_known = property.has_value();
  if (property) schemas.push_back({.node = *property});
  if (patterns) {
    for (const NodeId pattern : tree_.at(*patterns).children) {
      if (!report_.work().add(kStepsOfKeyword + name.size())) return;
      const CharacterDfa* names = texts_.of_names(pattern);
      if (names == nullptr) is_known = true;  // all that is known; the object's writer says so
      if (names == nullptr || !names->accepts(name)) continue;
      is_known = true;
      schemas.push_back({.node = pattern});
    }
  }
  if (others && !is_known) schemas.push_back({.node = *others});
}

SchemaSet SchemaExpander::schemas_of_member(const SchemaFacts& facts, std::string_view name) {
  SchemaSet schemas;
  for (const NodeId layer : facts.object_layers) {
    if (report_.failed()) break;
    add_schemas(layer, name, schemas);
  }
  report_.work().add(facts.member_tests.size());
  for (const MemberTest& test : facts.member_tests)
    if (test.name == name) schemas.push_back(test.schema);
  make_set(schemas);
  return schemas;
}

SchemaExpander::MemberSchemas::MemberSchemas(SchemaExpander& expander, const SchemaFacts& facts) : expander_(expander) {
  const JsonTree& tree = expander.tree_;
  for (const NodeId layer : facts.object_layers) {
    if (tree.find(layer, "patternProperties") || tree.find(layer, "additionalProperties")) {
      open_layers_.push_back(layer);
    } else if (const auto properties = tree.find(layer, "properties")) {
      for (const NodeId property : tree.at(*properties).children)
        named_[tree.at(property).key].push_back({.node = property});
    }
  }
  for (const MemberTest& test : facts.member_tests) named_[test.name].push_back(test.schema);
}

SchemaSet SchemaExpander::MemberSchemas::of(std::string_view name) {
  const auto known = named_.find(name);
  SchemaSet schemas = known == named_.end() ? SchemaSet() : known->second;
  for (const NodeId layer : open_layers_) {
    if (expander_.report_.failed()) break;
    expander_.add_schemas(layer, name, schemas);
  }
  make_set(schemas);
  return schemas;
}

bool SchemaExpander::are_disjoint(const SchemaWays& a, const SchemaWays& b) {
  if (a.size() * b.size() > kMaxWays) return false;
  for (const SchemaFacts& left : a)
    for (const SchemaFacts& right : b) {
      if (!report_.work().add(kStepsOfPair) || !are_disjoint(left, right)) return false;
    }
  return true;
}

bool SchemaExpander::are_disjoint(const SchemaFacts& a, const SchemaFacts& b) {
  static constexpr std::size_t kMaxCompared = 1 << 16;
  const std::size_t num_values = (a.values ? a.values->size() : 1) * (b.values ? b.values->size() : 1);
  if (num_values > kMaxCompared) return false;
  report_.work().add(num_values);
  if (a.values && b.values) {
    const auto is_of_b = [&](NodeId value) {
      return std::ranges::any_of(*b.values, [&](NodeId other) { return tree_.equal(value, other, report_.work()); });
    };
    return std::ranges::none_of(*a.values, is_of_b);
  }
  if (a.values || b.values) {
    const SchemaFacts& other = a.values ? b : a;
    const auto may_be = [&](NodeId value) { return may_hold(other, value); };
    return std::ranges::none_of(a.values ? *a.values : *b.values, may_be);
  }
  const auto common = static_cast<TypeMask>(a.types & b.types);
  if ((common & (kNullType | kBooleanType)) != 0) return false;
  if ((common & kNumberType) != 0 && !have_disjoint_bounds(a, b)) return false;
  if ((common & kStringType) != 0 && !have_disjoint_counts(a.min_length, a.max_length, b.min_length, b.max_length) &&
      !have_disjoint_texts(a, b))
    return false;
  if ((common & kArrayType) != 0 && !have_disjoint_counts(a.min_items, a.max_items, b.min_items, b.max_items))
    return false;
  return (common & kObjectType) == 0 || have_disjoint_members(a, b);
}

/// Whether a known value may fulfil a way: only its type is looked at, and what texts and numbers must be.
bool SchemaExpander::may_hold(const SchemaFacts& facts, NodeId value) {
  const auto is = [&](std::string_view type) { return is_of_type(tree_, value, type); };
  if (is("null")) return facts.has(kNullType);
  if (is("boolean")) return facts.has(kBooleanType);
  if (is("array")) return facts.has(kArrayType);
  if (is("object")) return facts.has(kObjectType);
  if (is("string")) {
    if (!facts.has(kStringType)) return false;
    report_.work().add(facts.text_tests.size() * (1 + tree_.at(value).text.size()));
    return std::ranges::all_of(facts.text_tests, [&](const TextTest& test) {
      const CharacterDfa* texts = test.is_format ? texts_.of_format(test.keyword) : texts_.of_pattern(test.keyword);
      return texts == nullptr || texts->accepts(tree_.at(value).text) != test.is_negated;
    });
  }
  if (!facts.has(kNumberType)) return false;
  report_.work().add(tree_.at(value).text.size() / 4);
  const auto number = Decimal::parse(tree_.at(value).text);
  if (!number) return true;
  if (facts.number_kind == NumberKind::kInteger && !number->is_integer()) return false;
  if (facts.minimum && *number < facts.minimum->value) return false;
  return !facts.maximum || *number <= facts.maximum->value;
}

bool SchemaExpander::have_disjoint_texts(const SchemaFacts& a, const SchemaFacts& b) {
  const auto texts_of = [&](const SchemaFacts& facts) -> std::optional<CharacterDfa> {
    if (facts.text_tests.size() != 1) return std::nullopt;
    const TextTest& test = facts.text_tests.front();
    const CharacterDfa* texts = test.is_format ? texts_.of_format(test.keyword) : texts_.of_pattern(test.keyword);
    if (texts == nullptr) return std::nullopt;
    report_.work().add(texts->num_transitions() / 4);  // they are copied
    return test.is_negated ? texts->complement() : *texts;
  };
  const auto left = texts_of(a), right = texts_of(b);
  if (!left || !right) return false;
  const auto common = texts_.both(*left, *right);
  return common && common->is_empty();
}

/// Whether no object fulfils both: a member that one requires is forbidden by the other, or no value suits both.
bool SchemaExpander::have_disjoint_members(const SchemaFacts& a, const SchemaFacts& b) {
  if (have_disjoint_counts(a.min_properties, a.max_properties, b.min_properties, b.max_properties)) return true;
  std::vector<std::string_view> names(a.required.names().begin(), a.required.names().end());
  names.insert(names.end(), b.required.names().begin(), b.required.names().end());
  for (const std::string_view name : names) {
    if (!report_.work().add(kStepsOfPair)) return false;
    if (a.forbidden.contains(name) || b.forbidden.contains(name)) return true;
    const SchemaSet left = schemas_of_member(a, name), right = schemas_of_member(b, name);
    const auto is_false = [&](SchemaTerm term) { return !term.is_negated && tree_.is(term.node, Kind::kFalse); };
    if (std::ranges::any_of(left, is_false) || std::ranges::any_of(right, is_false)) return true;
    if (compared_depth_ >= kMaxComparedDepth || left.empty() || right.empty()) continue;
    const SchemaReport::Trial trial(report_);
    const std::vector<SchemaTerm> open = std::exchange(open_, {});
    ++compared_depth_;
    const bool is_apart = are_disjoint(expand(left), expand(right));
    --compared_depth_;
    open_ = open;
    if (is_apart) return true;
  }
  return false;
}

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

/// The ways in which a member exists and breaks its schema.
SchemaWays SchemaExpander::without_members(NodeId keyword, const SchemaWays& ways) {
  SchemaWays found;
  for (const NodeId property : tree_.at(keyword).children) {
    if (tree_.is(property, Kind::kTrue)) continue;
    if (tree_.is(property, Kind::kObject) && tree_.at(property).children.empty()) continue;
    for (SchemaFacts& way : copy_of(ways)) {
      require_member(way, tree_.at(property).key);
      way.member_tests.push_back({tree_.at(property).key, {.node = property, .is_negated = true}});
      found.push_back(std::move(way));
    }
    if (!is_bounded(keyword, found)) return found;
  }
  return found;
}

/// The ways in which a member that the schema does not name exists and breaks `additionalProperties`. Only names that
/// other schemas have are tried.
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
      require_member(with_it, name);
      with_it.member_tests.push_back({name, {.node = keyword, .is_negated = true}});
      found.push_back(std::move(with_it));
    }
    if (!is_bounded(keyword, found)) return std::nullopt;
  }
  return found;
}

}  // namespace octavo
