#include "constraint/schema/schema_writer.h"

#include <algorithm>
#include <ranges>
#include <utility>

namespace octavo {
namespace {

constexpr std::uint32_t kMaxContained = 64;
constexpr std::size_t kMaxCounted = 1 << 14;  // members, times the counts that are distinguished

}  // namespace

/// The schema to which one leads that is only a reference, so that all such references share a rule.
JsonTree::NodeId SchemaWriter::referred(JsonTree::NodeId schema) {
  static constexpr int kMostReferences = 8;  // one after another
  for (int i = 0; i < kMostReferences && parts_.tree.is(schema, JsonTree::Kind::kObject); ++i) {
    const auto& children = parts_.tree.at(schema).children;
    if (children.size() != 1) break;
    const JsonTree::Node& only = parts_.tree.at(children.front());
    if (only.key != "$ref" || only.kind != JsonTree::Kind::kString || !grammar_.work().add(only.text.size())) break;
    const auto target = parts_.refs.resolve(schema, only.text);
    if (!target) break;
    schema = *target;
  }
  return schema;
}

ExpressionId SchemaWriter::value(SchemaSet schemas) {
  for (SchemaTerm& term : schemas) term.node = referred(term.node);
  std::erase_if(schemas, [this](SchemaTerm term) {
    return !term.is_negated &&
           (parts_.tree.is(term.node, JsonTree::Kind::kTrue) ||
            (parts_.tree.is(term.node, JsonTree::Kind::kObject) && parts_.tree.at(term.node).children.empty()));
  });
  make_set(schemas);
  if (schemas.empty()) return parts_.json.value();
  const auto known = rules_.find(schemas);
  if (known != rules_.end()) return grammar_.call(known->second);
  const RuleId rule = grammar_.declare("value");
  if (grammar_.is_refused()) return Grammar::nothing();
  work_.push_back(schemas);
  rules_.emplace(std::move(schemas), rule);
  return grammar_.call(rule);
}

void SchemaWriter::write_all() {
  while (!work_.empty() && !parts_.report.failed()) {
    const SchemaSet schemas = std::move(work_.back());
    work_.pop_back();
    grammar_.define(rules_.at(schemas), body(schemas));
    if (grammar_.is_refused()) parts_.report.fail_with("the schema: " + grammar_.refusal().message);
  }
}

ExpressionId SchemaWriter::body(const SchemaSet& schemas) {
  std::vector<ExpressionId> found;
  std::vector<NodeId> values;
  for (const SchemaFacts& way : parts_.expander.expand(schemas)) {
    if (parts_.report.failed()) break;
    if (way.values) {
      values.insert(values.end(), way.values->begin(), way.values->end());
    } else {
      for (const ExpressionId one : of_way(way)) found.push_back(one);
    }
  }
  if (!values.empty()) found.push_back(one_of(schemas, values));
  std::erase(found, Grammar::nothing());
  return grammar_.alternatives(std::move(found));
}

/// Writes an alternative for each of the values that fulfil the schemas.
ExpressionId SchemaWriter::one_of(const SchemaSet& schemas, const std::vector<NodeId>& values) {
  std::vector<std::string> texts;
  std::vector<ExpressionId> written;
  for (const NodeId value : values) {
    if (!grammar_.work().add()) return Grammar::nothing();
    const Verdict verdict = parts_.validator.holds(schemas, value);
    if (verdict == Verdict::kUnknown)
      parts_.report.cannot_hold(value, "it cannot be told whether the value fulfils the rest of the schema");
    if (verdict == Verdict::kNo) continue;
    const JsonTree::Node& node = parts_.tree.at(value);
    if (node.kind == JsonTree::Kind::kString) {
      texts.push_back(node.text);
    } else {
      written.push_back(literal(value));
    }
  }
  std::ranges::sort(texts);
  const auto repeated = std::ranges::unique(texts);
  texts.erase(repeated.begin(), repeated.end());
  if (!texts.empty()) written.push_back(one_of_texts(texts));
  return grammar_.alternatives(std::move(written));
}

/// Writes texts as a tree. Many share their beginnings, so that few places are alive in them at once.
ExpressionId SchemaWriter::one_of_texts(std::span<const std::string> texts) {
  static constexpr std::size_t kFewTexts = 8;
  const auto shared = texts.size() > kFewTexts ? CharacterDfa::of_texts(texts, grammar_.work()) : std::nullopt;
  if (shared) return strings_.quoted(*shared);
  std::vector<ExpressionId> literals;
  literals.reserve(texts.size());
  for (const std::string& text : texts) literals.push_back(parts_.json.text(text));
  return grammar_.alternatives(std::move(literals));
}

ExpressionId SchemaWriter::literal(NodeId value) {
  const JsonTree::Node& node = parts_.tree.at(value);
  switch (node.kind) {
    case JsonTree::Kind::kNull: return parts_.json.null();
    case JsonTree::Kind::kFalse: return parts_.json.boolean(false);
    case JsonTree::Kind::kTrue: return parts_.json.boolean(true);
    case JsonTree::Kind::kNumber: return literal_number(node.text);
    case JsonTree::Kind::kString: return parts_.json.text(node.text);
    default: break;
  }
  const bool is_object = node.kind == JsonTree::Kind::kObject;
  std::vector<ExpressionId> parts = {grammar_.literal(is_object ? "{" : "["), parts_.json.space()};
  for (std::size_t i = 0; i < node.children.size(); ++i) {
    if (i > 0) parts.push_back(comma());
    if (is_object) parts.push_back(parts_.json.key(parts_.tree.at(node.children[i]).key));
    parts.push_back(literal(node.children[i]));
    if (i + 1 == node.children.size()) parts.push_back(parts_.json.space());
  }
  parts.push_back(grammar_.literal(is_object ? "}" : "]"));
  return grammar_.sequence(std::move(parts));
}

/// Writes a number as it is in the schema, and without the parts that it need not have.
ExpressionId SchemaWriter::literal_number(const std::string& text) {
  static constexpr std::size_t kMaxPlainBytes = 40;
  const auto number = Decimal::parse(text);
  if (!number) return grammar_.literal(text);
  const std::string fraction = number->fraction_digits(), whole = number->integer_digits();
  const std::string plain =
      (number->is_negative() ? "-" : "") + (whole.empty() ? "0" : whole) + (fraction.empty() ? "" : "." + fraction);
  if (plain == text || plain.size() > kMaxPlainBytes) return grammar_.literal(text);
  if (text.find_first_of("eE") != std::string::npos) return grammar_.literal(plain);
  return grammar_.alternatives({grammar_.literal(text), grammar_.literal(plain)});
}

bool SchemaWriter::is_other_value(const SchemaFacts& way, JsonTree::Kind kind) const {
  return std::ranges::any_of(way.other_values, [&](NodeId value) { return parts_.tree.is(value, kind); });
}

std::vector<ExpressionId> SchemaWriter::of_way(const SchemaFacts& way) {
  using Kind = JsonTree::Kind;
  std::vector<ExpressionId> found;
  if (way.has(kNullType) && !is_other_value(way, Kind::kNull)) found.push_back(parts_.json.null());
  if (way.has(kBooleanType) && !is_other_value(way, Kind::kTrue)) found.push_back(parts_.json.boolean(true));
  if (way.has(kBooleanType) && !is_other_value(way, Kind::kFalse)) found.push_back(parts_.json.boolean(false));
  if (way.has(kNumberType)) found.push_back(number(way));
  if (way.has(kStringType)) found.push_back(strings_.write(way));
  for (const NodeId value : way.other_values) {
    const bool is_taken = (way.has(kArrayType) && parts_.tree.is(value, Kind::kArray)) ||
                          (way.has(kObjectType) && parts_.tree.is(value, Kind::kObject));
    if (is_taken) parts_.report.cannot_hold(value, "all values but this array or object are more than a rule can say");
  }
  if (way.has(kArrayType)) found.push_back(array(way));
  if (way.has(kObjectType)) found.push_back(object(way));
  return found;
}

/// Sets a bound that the schema does not give to the largest number of kBoundedDigits digits, unless the other bound
/// has more: a small model would go on with digits up to the limit of its answer.
void SchemaWriter::bound_digits(NumberRange& range) {
  const Decimal most = *Decimal::parse(std::string(JsonGrammar::kBoundedDigits, '9'));
  const bool fits_below = !range.minimum || range.minimum->value < most;
  const bool fits_above = !range.maximum || range.maximum->value > most.negated();
  if (!range.maximum && fits_below) range.maximum = NumberBound{.value = most};
  if (!range.minimum && fits_above) range.minimum = NumberBound{.value = most.negated()};
}

ExpressionId SchemaWriter::number(const SchemaFacts& way) {
  if (way.number_kind == NumberKind::kNone) return Grammar::nothing();
  NumberRange range{.kind = way.number_kind, .minimum = way.minimum, .maximum = way.maximum};
  for (const NodeId value : way.other_values) {
    if (!parts_.tree.is(value, JsonTree::Kind::kNumber)) continue;
    grammar_.work().add(parts_.tree.at(value).text.size());
    if (const auto number = Decimal::parse(parts_.tree.at(value).text)) range.other_values.push_back(*number);
  }
  for (const NodeId divisor : way.divisors)
    if (const auto number = Decimal::parse(parts_.tree.at(divisor).text)) range.divisors.push_back(*number);
  const bool is_free = !range.minimum && !range.maximum && range.divisors.empty() && range.other_values.empty();
  if (parts_.closes_objects && !is_free) bound_digits(range);
  if (is_free && range.kind == NumberKind::kAny) return parts_.json.number();
  if (is_free && range.kind == NumberKind::kInteger) return parts_.json.integer();
  if (const auto written = write_number(range, grammar_)) return *written;
  for (const NodeId divisor : way.divisors) parts_.report.cannot_hold(divisor, "the divisor has too many digits");
  range.divisors.clear();
  if (const auto written = write_number(range, grammar_)) return *written;
  return way.number_kind == NumberKind::kInteger ? parts_.json.integer() : parts_.json.number();
}

ExpressionId SchemaWriter::array(const SchemaFacts& way) {
  const auto elements = elements_of(way);
  if (!elements) return Grammar::nothing();
  if (way.unique_keyword && elements->max > 1)
    parts_.report.cannot_hold(*way.unique_keyword, "whether elements are unique is more than a rule can say");
  const ExpressionId inner = way.contained.empty() ? list(*elements) : containing(way, *elements);
  return grammar_.sequence({grammar_.literal("["), parts_.json.space(), inner, grammar_.literal("]")});
}

/// The elements of a way's arrays. No value: no array fulfils the way.
std::optional<SchemaWriter::Elements> SchemaWriter::elements_of(const SchemaFacts& way) {
  Elements elements{.min = way.min_items, .max = way.max_items};
  std::vector<ElementSchemas> layers;
  std::size_t num_first = 0;
  for (const NodeId layer : way.array_layers) {
    if (grammar_.work().has_ended()) return std::nullopt;
    layers.emplace_back(parts_.tree, layer);
    grammar_.work().add(layers.back().num_first());
    num_first = std::max(num_first, layers.back().num_first());
  }
  const auto schemas_at = [&](std::size_t index) {
    SchemaSet schemas;
    grammar_.work().add(layers.size());
    for (const ElementSchemas& layer : layers)
      if (const auto schema = layer.at(index)) schemas.push_back({.node = *schema});
    make_set(schemas);
    return schemas;
  };
  const auto end_at = [&](std::size_t index) {
    elements.max = std::min(elements.max, static_cast<std::uint32_t>(index));
  };
  for (std::size_t i = 0; i < num_first && i < elements.max && !parts_.report.failed(); ++i) {
    elements.first.push_back(schemas_at(i));
    if (is_false(parts_.tree, elements.first.back())) end_at(i);
  }
  elements.rest = schemas_at(num_first);
  if (is_false(parts_.tree, elements.rest)) end_at(num_first);
  if (elements.first.size() > elements.max) elements.first.resize(elements.max);
  if (elements.min > elements.max) return std::nullopt;
  return elements;
}

/// Writes the elements with commas between them, and the space after the last one.
ExpressionId SchemaWriter::list(const Elements& elements) {
  if (elements.max == 0) return grammar_.empty();
  const auto num_first = static_cast<std::uint32_t>(elements.first.size());
  const auto minus = [](std::uint32_t count, std::uint32_t less) {
    return count == SchemaFacts::kNoLimit ? count : count > less ? count - less : 0;
  };
  ExpressionId first = num_first == 0 ? value(elements.rest) : Grammar::nothing();
  ExpressionId more = grammar_.empty();  // what follows the elements so far
  if (elements.max > num_first) {
    const ExpressionId further = grammar_.sequence({comma(), value(elements.rest)});
    const std::uint32_t before = std::max<std::uint32_t>(num_first, 1);
    more = grammar_.repeat(further, minus(elements.min, before), minus(elements.max, before));
  }
  for (std::uint32_t i = num_first; i-- > 0;) {
    const ExpressionId element = value(elements.first[i]);
    if (i == 0) {
      first = element;
      break;
    }
    more = grammar_.sequence({comma(), element, more});
    if (i >= elements.min) more = grammar_.optional(more);
    if (i % 64 == 0) more = grammar_.named("elements", more);  // so that expressions stay flat
  }
  const ExpressionId all = grammar_.sequence({first, more, parts_.json.space()});
  return elements.min == 0 ? grammar_.optional(all) : all;
}

/// Writes arrays with elements that pass the test: others may be before, between and after them.
ExpressionId SchemaWriter::containing(const SchemaFacts& way, const Elements& elements) {
  const ContainedTest& test = way.contained.front();
  const bool is_plain = way.contained.size() == 1 && !test.has_max && test.min <= kMaxContained;
  if (!is_plain || !elements.first.empty() || elements.max != SchemaFacts::kNoLimit || elements.min > test.min) {
    parts_.report.cannot_hold(test.keyword,
                              "beside prefixItems, minItems, maxItems or maxContains it is not supported");
    return list(elements);
  }
  SchemaSet both = elements.rest;
  both.push_back(test.schema);
  make_set(both);
  const ExpressionId other = value(elements.rest), held = value(both);
  const ExpressionId before = grammar_.repeat(grammar_.sequence({other, comma()}), 0, Grammar::kAnyNumber);
  const ExpressionId once = grammar_.sequence({before, held});
  const ExpressionId further = grammar_.repeat(grammar_.sequence({comma(), once}), test.min - 1, test.min - 1);
  const ExpressionId behind = grammar_.repeat(grammar_.sequence({comma(), other}), 0, Grammar::kAnyNumber);
  return grammar_.sequence({once, further, behind, parts_.json.space()});
}

ExpressionId SchemaWriter::object(const SchemaFacts& way) {
  const auto members = members_.find(way);
  if (!members) return Grammar::nothing();
  const ExpressionId other = other_member(members->others);
  const auto& named = members->named;
  const auto num_required = static_cast<std::uint32_t>(std::ranges::count(named, true, &NamedMember::is_required));
  const bool is_bounded =
      way.max_properties < named.size() || (way.max_properties != SchemaFacts::kNoLimit && other != Grammar::nothing());
  const bool is_counted = way.min_properties > num_required || is_bounded;
  const ExpressionId inner = is_counted ? counted(way, named, other) : in_order(named, other);
  return grammar_.sequence({grammar_.literal("{"), parts_.json.space(), inner, grammar_.literal("}")});
}

ExpressionId SchemaWriter::other_member(std::span<const OtherMembers> others) {
  std::vector<ExpressionId> ways;
  for (const OtherMembers& other : others) {
    const ExpressionId name = other.names ? strings_.quoted(*other.names) : parts_.json.string();
    ways.push_back(grammar_.sequence({parts_.json.key(name), value(other.schemas)}));
  }
  if (ways.empty()) return Grammar::nothing();
  return grammar_.named("other member", grammar_.alternatives(std::move(ways)));
}

ExpressionId SchemaWriter::named_member(const NamedMember& member) {
  return grammar_.named("member", grammar_.sequence({parts_.json.key(member.name), value(member.schemas)}));
}

/// Writes members as two chains of rules: after an earlier member, and at the beginning.
ExpressionId SchemaWriter::in_order(std::span<const NamedMember> members, ExpressionId other) {
  const ExpressionId end = parts_.json.space();
  ExpressionId behind = end, begun = grammar_.empty();
  if (other != Grammar::nothing()) {
    behind = grammar_.sequence({grammar_.repeat(grammar_.sequence({comma(), other}), 0, Grammar::kAnyNumber), end});
    behind = grammar_.named("members", behind);
    begun = grammar_.optional(grammar_.sequence({other, behind}));
  }
  for (const NamedMember& member : members | std::views::reverse) {
    const ExpressionId written = named_member(member);
    const ExpressionId first = grammar_.sequence({written, behind});
    begun = member.is_required ? first : grammar_.named("members", grammar_.alternatives({first, begun}));
    const ExpressionId next = grammar_.sequence({comma(), written});
    behind =
        grammar_.named("members", grammar_.sequence({member.is_required ? next : grammar_.optional(next), behind}));
  }
  return begun;
}

/// Writes members whose number is bounded: rules for each number so far, from the last member to the first.
ExpressionId SchemaWriter::counted(const SchemaFacts& way, std::span<const NamedMember> members, ExpressionId other) {
  const bool has_limit = way.max_properties != SchemaFacts::kNoLimit;
  const std::size_t num_counts = std::size_t{has_limit ? way.max_properties : way.min_properties} + 1;
  if (num_counts * (members.size() + 1) > kMaxCounted) {
    if (!way.object_layers.empty())
      parts_.report.cannot_hold(way.object_layers.front(), "the numbers of members are too large");
    return in_order(members, other);
  }
  const auto one_more = [&](std::size_t count) { return std::min(count + 1, num_counts - 1); };
  const auto may_take = [&](std::size_t count) { return !has_limit || count < way.max_properties; };
  const auto separated = [&](std::size_t count, ExpressionId member) {
    return count == 0 ? member : grammar_.sequence({comma(), member});
  };
  std::vector<ExpressionId> rest(num_counts);  // by the number of members before
  for (std::size_t count = num_counts; count-- > 0;) {
    std::vector<ExpressionId> ways;
    const RuleId rule = grammar_.declare("members");
    rest[count] = grammar_.call(rule);
    if (count >= way.min_properties) ways.push_back(count == 0 ? grammar_.empty() : parts_.json.space());
    if (may_take(count) && other != Grammar::nothing())
      ways.push_back(grammar_.sequence({separated(count, other), rest[one_more(count)]}));
    grammar_.define(rule, grammar_.alternatives(std::move(ways)));
  }
  for (const NamedMember& member : members | std::views::reverse) {
    const ExpressionId written = named_member(member);
    std::vector<ExpressionId> before(num_counts);
    for (std::size_t count = num_counts; count-- > 0;) {
      std::vector<ExpressionId> ways;
      if (may_take(count)) ways.push_back(grammar_.sequence({separated(count, written), rest[one_more(count)]}));
      if (!member.is_required) ways.push_back(rest[count]);
      before[count] = grammar_.named("members", grammar_.alternatives(std::move(ways)));
    }
    rest = std::move(before);
  }
  return rest[0];
}

}  // namespace octavo
