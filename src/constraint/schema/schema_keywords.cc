// Keywords about values of one type: what they demand, and how a value breaks them.
#include <algorithm>
#include <array>

#include "constraint/schema/schema_expander.h"

namespace octavo {
namespace {

using NodeId = JsonTree::NodeId;
using Kind = JsonTree::Kind;

constexpr std::uint64_t kStepsOfName = 16;

/// A keyword with its place, as these functions get it.
struct Given {
  const JsonTree& tree;
  NodeId schema;
  NodeId keyword;
  SchemaReport& report;

  const JsonTree::Node& node() const { return tree.at(keyword); }
  bool expect(bool condition, std::string_view expected) const {
    if (!condition) report.refuse(keyword, expected);
    return condition;
  }
};

TypeMask mask_of(std::string_view type) {
  static constexpr std::array<std::pair<std::string_view, TypeMask>, 7> kTypes = {{{"null", kNullType},
                                                                                   {"boolean", kBooleanType},
                                                                                   {"number", kNumberType},
                                                                                   {"integer", kNumberType},
                                                                                   {"string", kStringType},
                                                                                   {"array", kArrayType},
                                                                                   {"object", kObjectType}}};
  const auto known = std::ranges::find(kTypes, type, [](const auto& entry) { return entry.first; });
  return known == kTypes.end() ? TypeMask{0} : known->second;
}

/// The types of the keyword's value, and whether integers are the only numbers among them.
struct NamedTypes {
  TypeMask types = 0;
  bool only_integers = false;
};

std::optional<NamedTypes> named_types(const JsonTree& tree, NodeId keyword) {
  NamedTypes named;
  bool has_integer = false, has_number = false;
  const auto add = [&](NodeId id) {
    const JsonTree::Node& node = tree.at(id);
    const TypeMask mask = node.kind == Kind::kString ? mask_of(node.text) : TypeMask{0};
    has_integer = has_integer || node.text == "integer";
    has_number = has_number || node.text == "number";
    named.types |= mask;
    return mask != 0;
  };
  const bool is_known =
      tree.is(keyword, Kind::kArray) ? std::ranges::all_of(tree.at(keyword).children, add) : add(keyword);
  named.only_integers = has_integer && !has_number;
  if (!is_known) return std::nullopt;
  return named;
}

void hold_type(const Given& given, SchemaFacts& facts) {
  given.report.work().add(given.node().children.size());
  const auto named = named_types(given.tree, given.keyword);
  if (!given.expect(named.has_value(), "one or several of the seven types")) return;
  facts.types &= named->types;
  if (named->only_integers) facts.number_kind = both(facts.number_kind, NumberKind::kInteger);
}

void hold_values(const Given& given, std::vector<NodeId> values, SchemaFacts& facts) {
  static constexpr std::size_t kMaxCompared = 1 << 20;
  if (facts.values && facts.values->size() * values.size() > kMaxCompared) {
    given.report.cannot_hold(given.keyword, "it has too many values to be compared with others");
  } else if (facts.values) {
    CompileWork& work = given.report.work();
    const auto is_other = [&](NodeId value) {
      return std::ranges::none_of(values, [&](NodeId known) { return given.tree.equal(value, known, work); });
    };
    std::erase_if(*facts.values, is_other);
  } else {
    facts.values = std::move(values);
  }
}

void hold_enum(const Given& given, SchemaFacts& facts) {
  if (given.expect(given.tree.is(given.keyword, Kind::kArray), "an array of values"))
    hold_values(given, given.node().children, facts);
}

void hold_const(const Given& given, SchemaFacts& facts) { hold_values(given, {given.keyword}, facts); }

void hold_bound(const Given& given, SchemaFacts& facts) {
  const std::string& name = given.node().key;
  const bool is_flag = given.tree.is(given.keyword, Kind::kTrue) || given.tree.is(given.keyword, Kind::kFalse);
  const bool is_minimum = name.ends_with("inimum");
  bool is_exclusive = name.starts_with("exclusive");
  if (is_exclusive && is_flag) return;  // draft 4 has a flag beside the bound, which reads it there
  if (!given.expect(given.tree.is(given.keyword, Kind::kNumber), "a number")) return;
  const auto value = Decimal::parse(given.node().text);
  if (!value) return given.report.cannot_hold(given.keyword, "the number has too many digits");
  const auto flag = given.tree.find(given.schema, is_minimum ? "exclusiveMinimum" : "exclusiveMaximum");
  is_exclusive = is_exclusive || (flag && given.tree.is(*flag, Kind::kTrue));
  std::optional<NumberBound>& bound = is_minimum ? facts.minimum : facts.maximum;
  const bool is_narrower = !bound || (is_minimum ? *value > bound->value : *value < bound->value);
  if (is_narrower) {
    bound = NumberBound{.value = *value, .is_exclusive = is_exclusive};
  } else if (*value == bound->value) {
    bound->is_exclusive = bound->is_exclusive || is_exclusive;
  }
}

void hold_multiple(const Given& given, SchemaFacts& facts) {
  const auto divisor =
      given.tree.is(given.keyword, Kind::kNumber) ? Decimal::parse(given.node().text) : std::optional<Decimal>();
  if (given.expect(divisor && !divisor->is_negative() && !divisor->is_zero(), "a number above 0"))
    facts.divisors.push_back(given.keyword);
}

void hold_count(const Given& given, SchemaFacts& facts) {
  const auto count = count_of(given.tree, given.keyword);
  if (!given.expect(count.has_value(), "a whole number from 0")) return;
  const std::string& name = given.node().key;
  const bool is_least = name.starts_with("min");
  const auto take = [&](std::uint32_t& min, std::uint32_t& max) {
    if (is_least) min = std::max(min, *count);
    if (!is_least) max = std::min(max, *count);
  };
  if (name.ends_with("Length")) take(facts.min_length, facts.max_length);
  if (name.ends_with("Items")) take(facts.min_items, facts.max_items);
  if (name.ends_with("Properties")) take(facts.min_properties, facts.max_properties);
}

void hold_text(const Given& given, SchemaFacts& facts) {
  if (!given.expect(given.tree.is(given.keyword, Kind::kString), "a text")) return;
  const bool is_format = given.node().key == "format";
  if (is_format && !is_standard_format(given.node().text)) return;  // the format is an annotation
  facts.text_tests.push_back({.keyword = given.keyword, .is_format = is_format});
}

void hold_unique(const Given& given, SchemaFacts& facts) {
  if (given.tree.is(given.keyword, Kind::kTrue)) facts.unique_keyword = given.keyword;
}

void hold_contains(const Given& given, SchemaFacts& facts) {
  const auto least = given.tree.find(given.schema, "minContains");
  const std::uint32_t min = least ? count_of(given.tree, *least).value_or(1) : 1;
  const bool has_max = given.tree.find(given.schema, "maxContains").has_value();
  if (min > 0 || has_max)
    facts.contained.push_back(
        {.schema = {.node = given.keyword}, .min = min, .has_max = has_max, .keyword = given.keyword});
}

void hold_required(const Given& given, SchemaFacts& facts) {
  if (given.tree.is(given.keyword, Kind::kTrue) || given.tree.is(given.keyword, Kind::kFalse)) return;  // draft 3
  if (!given.expect(given.tree.is(given.keyword, Kind::kArray), "an array of names")) return;
  const bool has_room = facts.required.size() + given.node().children.size() <= SchemaFacts::kMaxRequired;
  if (!given.expect(has_room, "at most 2048 names")) return;
  for (const NodeId name : given.node().children) {
    if (!given.tree.is(name, Kind::kString)) return given.report.refuse(name, "a name");
    given.report.work().add(kStepsOfName);
    facts.required.add(given.tree.at(name).text);
  }
}

void hold_names(const Given& given, SchemaFacts& facts) { facts.name_schemas.push_back({.node = given.keyword}); }

void hold_evaluated(const Given& given, SchemaFacts& facts) {
  if (given.node().key == "unevaluatedProperties") facts.has_unevaluated = true;
  if (!given.tree.is(given.keyword, Kind::kTrue))
    given.report.cannot_hold(given.keyword, fmt::format("{} is not supported", given.node().key));
}

struct Holder {
  std::string_view name;
  void (*hold)(const Given& given, SchemaFacts& facts);
};
constexpr std::array kHolders = {Holder{"type", hold_type},
                                 Holder{"enum", hold_enum},
                                 Holder{"const", hold_const},
                                 Holder{"minimum", hold_bound},
                                 Holder{"maximum", hold_bound},
                                 Holder{"exclusiveMinimum", hold_bound},
                                 Holder{"exclusiveMaximum", hold_bound},
                                 Holder{"multipleOf", hold_multiple},
                                 Holder{"minLength", hold_count},
                                 Holder{"maxLength", hold_count},
                                 Holder{"pattern", hold_text},
                                 Holder{"format", hold_text},
                                 Holder{"minItems", hold_count},
                                 Holder{"maxItems", hold_count},
                                 Holder{"uniqueItems", hold_unique},
                                 Holder{"contains", hold_contains},
                                 Holder{"required", hold_required},
                                 Holder{"propertyNames", hold_names},
                                 Holder{"minProperties", hold_count},
                                 Holder{"maxProperties", hold_count},
                                 Holder{"unevaluatedProperties", hold_evaluated},
                                 Holder{"unevaluatedItems", hold_evaluated}};

/// Narrows to values that break a bound. What is above a maximum and below a minimum differs.
bool fail_bound(const Given& given, SchemaFacts& facts) {
  SchemaFacts held;
  hold_bound(given, held);
  const std::optional<NumberBound>& broken = held.minimum ? held.minimum : held.maximum;
  if (!broken) return false;
  std::optional<NumberBound>& bound = held.minimum ? facts.maximum : facts.minimum;
  const auto& value = broken->value;
  const bool is_narrower = !bound || (held.minimum ? value < bound->value : value > bound->value);
  if (is_narrower) {
    bound = NumberBound{.value = value, .is_exclusive = !broken->is_exclusive};
  } else if (value == bound->value) {
    bound->is_exclusive = bound->is_exclusive || !broken->is_exclusive;
  }
  facts.types &= kNumberType;
  return true;
}

bool fail_count(const Given& given, SchemaFacts& facts) {
  const auto count = count_of(given.tree, given.keyword);
  if (!count) return false;
  const std::string& name = given.node().key;
  const auto take = [&](std::uint32_t& min, std::uint32_t& max, TypeMask type) {
    facts.types &= type;
    if (name.starts_with("max")) min = std::max(min, *count + 1);
    if (name.starts_with("min") && *count == 0) facts.types = 0;
    if (name.starts_with("min") && *count > 0) max = std::min(max, *count - 1);
  };
  if (name.ends_with("Length")) take(facts.min_length, facts.max_length, kStringType);
  if (name.ends_with("Items")) take(facts.min_items, facts.max_items, kArrayType);
  if (name.ends_with("Properties")) take(facts.min_properties, facts.max_properties, kObjectType);
  return true;
}

bool fail_type(const Given& given, SchemaFacts& facts) {
  const auto named = named_types(given.tree, given.keyword);
  if (!named) return false;
  const bool has_fractions = named->only_integers && facts.has(kNumberType);
  facts.types &= static_cast<TypeMask>(~named->types);
  if (!has_fractions) return true;
  facts.types |= kNumberType;
  facts.number_kind = both(facts.number_kind, NumberKind::kFraction);
  return true;
}

bool fail_text(const Given& given, SchemaFacts& facts) {
  const bool is_format = given.node().key == "format";
  if (is_format && !is_standard_format(given.node().text)) facts.types = 0;
  facts.types &= kStringType;
  facts.text_tests.push_back({.keyword = given.keyword, .is_format = is_format, .is_negated = true});
  return true;
}

}  // namespace

bool hold_keyword(const JsonTree& tree, NodeId schema, NodeId keyword, SchemaReport& report, SchemaFacts& facts) {
  const auto holder = std::ranges::find(kHolders, tree.at(keyword).key, &Holder::name);
  if (holder == kHolders.end()) return false;
  holder->hold({tree, schema, keyword, report}, facts);
  return true;
}

bool fail_keyword(const JsonTree& tree, NodeId schema, NodeId keyword, SchemaReport& report, SchemaFacts& facts) {
  const Given given{tree, schema, keyword, report};
  const std::string& name = given.node().key;
  if (name == "type") return fail_type(given, facts);
  if (name == "minimum" || name == "maximum") return fail_bound(given, facts);
  if (name == "exclusiveMinimum" || name == "exclusiveMaximum") return fail_bound(given, facts);
  if (name == "pattern" || name == "format") return fail_text(given, facts);
  const bool is_count = name.ends_with("Length") || name.ends_with("Items") || name.ends_with("Properties");
  if (is_count && (name.starts_with("min") || name.starts_with("max"))) return fail_count(given, facts);
  if (name != "const" && name != "enum") return false;
  const auto& values = given.node().children;
  report.work().add(values.size());
  if (name == "const") facts.other_values.push_back(keyword);
  if (name == "enum") facts.other_values.insert(facts.other_values.end(), values.begin(), values.end());
  return true;
}

bool is_contradiction(const SchemaFacts& facts) {
  if (facts.types == 0 || (facts.values && facts.values->empty())) return true;
  if (facts.types == kObjectType) {
    const auto is_required = [&](std::string_view name) { return facts.required.contains(name); };
    return facts.min_properties > facts.max_properties || std::ranges::any_of(facts.forbidden.names(), is_required);
  }
  if (facts.types == kArrayType) return facts.min_items > facts.max_items;
  if (facts.types == kStringType) return facts.min_length > facts.max_length;
  if (facts.types != kNumberType) return false;
  if (facts.number_kind == NumberKind::kNone) return true;
  if (!facts.minimum || !facts.maximum) return false;
  if (facts.minimum->value == facts.maximum->value) return facts.minimum->is_exclusive || facts.maximum->is_exclusive;
  return facts.minimum->value > facts.maximum->value;
}

}  // namespace octavo
