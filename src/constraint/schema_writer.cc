#include "constraint/schema_writer.h"

#include <algorithm>

#include "constraint/schema_number.h"

namespace octavo {

/// The schema that one which is a reference alone leads to, so that all who refer to it have one rule.
JsonTree::NodeId SchemaWriter::referred(JsonTree::NodeId schema) {
  static constexpr int kMostReferences = 8;  // one behind another
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

/// Those of the values that fulfil the schemas.
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

/// Many texts share their beginnings, so that few places are alive in them at once.
ExpressionId SchemaWriter::one_of_texts(std::span<const std::string> texts) {
  static constexpr std::size_t kFewTexts = 8;
  const auto shared = texts.size() > kFewTexts ? CharacterDfa::of_texts(texts, grammar_.work()) : std::nullopt;
  if (shared) return quoted(*shared);
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

/// As it stands in the schema, and without what it need not have.
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
  if (way.has(kStringType)) found.push_back(string(way));
  for (const NodeId value : way.other_values) {
    const bool is_taken = (way.has(kArrayType) && parts_.tree.is(value, Kind::kArray)) ||
                          (way.has(kObjectType) && parts_.tree.is(value, Kind::kObject));
    if (is_taken) parts_.report.cannot_hold(value, "all values but this array or object are more than a rule can say");
  }
  if (way.has(kArrayType)) found.push_back(array(way));
  if (way.has(kObjectType)) found.push_back(object(way));
  return found;
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
  if (is_free && range.kind == NumberKind::kAny) return parts_.json.number();
  if (is_free && range.kind == NumberKind::kInteger) return parts_.json.integer();
  if (const auto written = write_number(range, grammar_)) return *written;
  for (const NodeId divisor : way.divisors) parts_.report.cannot_hold(divisor, "the divisor has too many digits");
  range.divisors.clear();
  if (const auto written = write_number(range, grammar_)) return *written;
  return way.number_kind == NumberKind::kInteger ? parts_.json.integer() : parts_.json.number();
}

bool SchemaWriter::is_false(const SchemaSet& schemas) const {
  return std::ranges::any_of(schemas, [this](SchemaTerm term) {
    return parts_.tree.is(term.node, term.is_negated ? JsonTree::Kind::kTrue : JsonTree::Kind::kFalse);
  });
}

}  // namespace octavo
