#include "constraint/schema/schema_validator.h"

#include <algorithm>
#include <charconv>

#include "base/utf8.h"

namespace octavo {
namespace {

constexpr std::uint64_t kStepsOfKeyword = 4;

Verdict verdict(bool holds) { return holds ? Verdict::kYes : Verdict::kNo; }
Verdict negation(Verdict verdict) {
  return verdict == Verdict::kUnknown ? verdict : verdict == Verdict::kYes ? Verdict::kNo : Verdict::kYes;
}

/// Joins two verdicts that must both hold.
void join(Verdict& all, Verdict one) { all = std::min(all, one); }

std::uint32_t num_characters(std::string_view text) {
  std::uint32_t count = 0;
  for (std::size_t place = 0; place < text.size(); place += utf8_announced_length(text[place])) ++count;
  return count;
}

}  // namespace

bool is_of_type(const JsonTree& tree, JsonTree::NodeId value, std::string_view type) {
  using Kind = JsonTree::Kind;
  switch (tree.at(value).kind) {
    case Kind::kNull: return type == "null";
    case Kind::kFalse:
    case Kind::kTrue: return type == "boolean";
    case Kind::kString: return type == "string";
    case Kind::kArray: return type == "array";
    case Kind::kObject: return type == "object";
    case Kind::kNumber: break;
  }
  if (type != "integer") return type == "number";
  const auto number = Decimal::parse(tree.at(value).text);
  return number && number->is_integer();
}

std::optional<std::uint32_t> count_of(const JsonTree& tree, JsonTree::NodeId keyword) {
  if (!tree.is(keyword, JsonTree::Kind::kNumber)) return std::nullopt;
  const auto number = Decimal::parse(tree.at(keyword).text);
  if (!number || number->is_negative() || !number->is_integer()) return std::nullopt;
  const std::string digits = number->integer_digits();
  std::uint32_t count = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), count);
  return error == std::errc() ? std::min(count, Grammar::kAnyNumber - 1) : digits.empty() ? 0 : Grammar::kAnyNumber - 1;
}

Verdict SchemaValidator::holds(const SchemaSet& schemas, NodeId value) {
  Verdict all = Verdict::kYes;
  for (const SchemaTerm term : schemas) join(all, holds(term, value));
  return all;
}

Verdict SchemaValidator::holds(SchemaTerm term, NodeId value) {
  const Verdict found = schema(term.node, value);
  return term.is_negated ? negation(found) : found;
}

Verdict SchemaValidator::schema(NodeId schema, NodeId value) {
  if (tree_.is(schema, Kind::kFalse)) return Verdict::kNo;
  if (!tree_.is(schema, Kind::kObject)) return Verdict::kYes;
  if (depth_ > kMaxDepth || ++work_ > kMaxWork || compile_work_.has_ended()) return Verdict::kUnknown;
  ++depth_;
  Verdict all = Verdict::kYes;
  for (const NodeId child : tree_.at(schema).children) {
    join(all, keyword(schema, child, value));
    if (all == Verdict::kNo) break;
  }
  if (all != Verdict::kNo && tree_.is(value, Kind::kArray)) join(all, elements(schema, value));
  if (all != Verdict::kNo && tree_.is(value, Kind::kObject)) join(all, members(schema, value));
  --depth_;
  return all;
}

Verdict SchemaValidator::keyword(NodeId schema, NodeId keyword, NodeId value) {
  const std::string_view name = tree_.at(keyword).key;
  compile_work_.add(kStepsOfKeyword + tree_.at(value).text.size() / 8);
  const auto equals = [&](NodeId other) { return tree_.equal(value, other, compile_work_); };
  const auto has_type = [&](NodeId type) { return is_of_type(tree_, value, tree_.at(type).text); };
  if (name == "type") return verdict(has_type(keyword) || std::ranges::any_of(tree_.at(keyword).children, has_type));
  if (name == "const") return verdict(equals(keyword));
  if (name == "enum") {
    if (tree_.at(value).parent == keyword) return Verdict::kYes;
    work_ += tree_.at(keyword).children.size() / 8;
    return verdict(std::ranges::any_of(tree_.at(keyword).children, equals));
  }
  if (name == "$ref" || name == "$dynamicRef" || name == "$recursiveRef") return reference(schema, keyword, value);
  if (name == "if") return condition(schema, value);
  if (name == "allOf" || name == "anyOf" || name == "oneOf" || name == "not") return combination(name, keyword, value);
  switch (tree_.at(value).kind) {
    case Kind::kNumber: return of_number(schema, name, keyword, value);
    case Kind::kString: return of_string(name, keyword, value);
    case Kind::kArray: return of_array(schema, name, keyword, value);
    case Kind::kObject: return of_object(name, keyword, value);
    default: return Verdict::kYes;
  }
}

Verdict SchemaValidator::reference(NodeId schema, NodeId keyword, NodeId value) {
  const JsonTree::Node& node = tree_.at(keyword);
  compile_work_.add(node.text.size());
  const auto target = node.key == "$ref" ? refs_.resolve(schema, node.text) : refs_.resolve_dynamic(schema, node.text);
  return target ? this->schema(*target, value) : Verdict::kUnknown;
}

Verdict SchemaValidator::combination(std::string_view name, NodeId keyword, NodeId value) {
  if (name == "not") return negation(schema(keyword, value));
  int num_held = 0, num_unknown = 0;
  Verdict all = Verdict::kYes;
  for (const NodeId child : tree_.at(keyword).children) {
    const Verdict found = schema(child, value);
    join(all, found);
    if (found == Verdict::kYes) ++num_held;
    if (found == Verdict::kUnknown) ++num_unknown;
  }
  if (name == "allOf") return all;
  if (name == "oneOf" && num_held > 1) return Verdict::kNo;
  if (name == "anyOf" && num_held > 0) return Verdict::kYes;
  if (num_unknown > 0) return Verdict::kUnknown;
  return verdict(num_held == 1);
}

Verdict SchemaValidator::condition(NodeId schema, NodeId value) {
  const auto held_by = [&](std::string_view name) {
    const auto branch = tree_.find(schema, name);
    return branch ? this->schema(*branch, value) : Verdict::kYes;
  };
  switch (held_by("if")) {
    case Verdict::kYes: return held_by("then");
    case Verdict::kNo: return held_by("else");
    case Verdict::kUnknown: return held_by("then") == held_by("else") ? held_by("then") : Verdict::kUnknown;
  }
  return Verdict::kUnknown;
}

Verdict SchemaValidator::of_number(NodeId schema, std::string_view name, NodeId keyword, NodeId value) const {
  const bool is_bound =
      name == "minimum" || name == "maximum" || name == "exclusiveMinimum" || name == "exclusiveMaximum";
  if (!is_bound && name != "multipleOf") return Verdict::kYes;
  if (!tree_.is(keyword, Kind::kNumber)) return Verdict::kYes;
  const auto bound = Decimal::parse(tree_.at(keyword).text), number = Decimal::parse(tree_.at(value).text);
  if (!bound || !number) return Verdict::kUnknown;
  if (name == "multipleOf") {
    const auto is_multiple = number->is_multiple_of(*bound);
    return is_multiple ? verdict(*is_multiple) : Verdict::kUnknown;
  }
  const bool is_minimum = name.ends_with("inimum");
  // In draft 4, a flag beside a bound says whether it is exclusive.
  const auto flag = tree_.find(schema, is_minimum ? "exclusiveMinimum" : "exclusiveMaximum");
  const bool is_exclusive = name.starts_with("excl") || (flag && tree_.is(*flag, Kind::kTrue));
  if (*number == *bound) return verdict(!is_exclusive);
  return verdict(is_minimum ? *number > *bound : *number < *bound);
}

Verdict SchemaValidator::of_string(std::string_view name, NodeId keyword, NodeId value) {
  const std::string& text = tree_.at(value).text;
  if (name == "minLength" || name == "maxLength") {
    const auto limit = count_of(tree_, keyword);
    if (!limit) return Verdict::kUnknown;
    return verdict(name == "minLength" ? num_characters(text) >= *limit : num_characters(text) <= *limit);
  }
  if (name == "pattern") {
    const CharacterDfa* pattern = texts_.of_pattern(keyword);
    return pattern != nullptr ? verdict(pattern->accepts(text)) : Verdict::kUnknown;
  }
  if (name != "format") return Verdict::kYes;
  const CharacterDfa* format = texts_.of_format(keyword);
  if (format != nullptr) return verdict(format->accepts(text));
  return is_standard_format(tree_.at(keyword).text) ? Verdict::kUnknown : Verdict::kYes;
}

Verdict SchemaValidator::of_array(NodeId schema, std::string_view name, NodeId keyword, NodeId value) {
  const std::size_t count = tree_.at(value).children.size();
  if (name == "minItems" || name == "maxItems") {
    const auto limit = count_of(tree_, keyword);
    if (!limit) return Verdict::kUnknown;
    return verdict(name == "minItems" ? count >= *limit : count <= *limit);
  }
  if (name == "uniqueItems") return tree_.is(keyword, Kind::kTrue) ? unique(value) : Verdict::kYes;
  if (name == "contains") return contained(schema, keyword, value);
  return name == "unevaluatedItems" ? Verdict::kUnknown : Verdict::kYes;
}

Verdict SchemaValidator::unique(NodeId value) {
  const auto& children = tree_.at(value).children;
  if (children.size() > 1000) return Verdict::kUnknown;
  for (std::size_t i = 0; i < children.size(); ++i)
    for (std::size_t j = 0; j < i; ++j)
      if (tree_.equal(children[i], children[j], compile_work_)) return Verdict::kNo;
  return Verdict::kYes;
}

Verdict SchemaValidator::contained(NodeId schema, NodeId keyword, NodeId value) {
  const auto least = tree_.find(schema, "minContains"), most = tree_.find(schema, "maxContains");
  const std::uint32_t min = least ? count_of(tree_, *least).value_or(1) : 1;
  const std::uint32_t max = most ? count_of(tree_, *most).value_or(SchemaFacts::kNoLimit) : SchemaFacts::kNoLimit;
  std::uint32_t num_held = 0;
  for (const NodeId child : tree_.at(value).children) {
    const Verdict found = this->schema(keyword, child);
    if (found == Verdict::kUnknown) return found;
    if (found == Verdict::kYes) ++num_held;
  }
  return verdict(num_held >= min && num_held <= max);
}

Verdict SchemaValidator::elements(NodeId schema, NodeId value) {
  const ElementSchemas layer(tree_, schema);
  compile_work_.add(layer.num_first());
  Verdict all = Verdict::kYes;
  const auto& children = tree_.at(value).children;
  for (std::size_t i = 0; i < children.size(); ++i)
    if (const auto of_element = layer.at(i)) join(all, this->schema(*of_element, children[i]));
  return all;
}

Verdict SchemaValidator::of_object(std::string_view name, NodeId keyword, NodeId value) {
  const std::size_t count = tree_.at(value).children.size();
  if (name == "minProperties" || name == "maxProperties") {
    const auto limit = count_of(tree_, keyword);
    if (!limit) return Verdict::kUnknown;
    return verdict(name == "minProperties" ? count >= *limit : count <= *limit);
  }
  if (name == "required") {
    compile_work_.add(tree_.at(keyword).children.size() * kStepsOfKeyword);
    return verdict(std::ranges::all_of(tree_.at(keyword).children, [&](NodeId required) {
      return tree_.find(value, tree_.at(required).text).has_value();
    }));
  }
  if (name == "dependentRequired" || name == "dependentSchemas" || name == "dependencies")
    return dependent(keyword, value);
  if (name != "propertyNames") return name == "unevaluatedProperties" ? Verdict::kUnknown : Verdict::kYes;
  return tree_.at(value).children.empty() ? Verdict::kYes : Verdict::kUnknown;
}

Verdict SchemaValidator::dependent(NodeId keyword, NodeId value) {
  Verdict all = Verdict::kYes;
  compile_work_.add(tree_.at(keyword).children.size() * kStepsOfKeyword);
  for (const NodeId dependency : tree_.at(keyword).children) {
    if (!tree_.find(value, tree_.at(dependency).key)) continue;
    if (!tree_.is(dependency, Kind::kArray)) {
      join(all, schema(dependency, value));
      continue;
    }
    compile_work_.add(tree_.at(dependency).children.size() * kStepsOfKeyword);
    for (const NodeId required : tree_.at(dependency).children)
      join(all, verdict(tree_.find(value, tree_.at(required).text).has_value()));
  }
  return all;
}

Verdict SchemaValidator::members(NodeId schema, NodeId value) {
  Verdict all = Verdict::kYes;
  for (const NodeId child : tree_.at(value).children) join(all, member(schema, child));
  return all;
}

Verdict SchemaValidator::member(NodeId schema, NodeId member) {
  const std::string& name = tree_.at(member).key;
  compile_work_.add(kStepsOfKeyword);
  Verdict all = Verdict::kYes;
  bool is_known = false;
  const auto properties = tree_.find(schema, "properties"), patterns = tree_.find(schema, "patternProperties");
  if (const auto property = properties ? tree_.find(*properties, name) : std::nullopt) {
    is_known = true;
    join(all, this->schema(*property, member));
  }
  if (patterns) {
    for (const NodeId pattern : tree_.at(*patterns).children) {
      if (!compile_work_.add(kStepsOfKeyword + name.size())) return Verdict::kUnknown;
      const CharacterDfa* names = texts_.of_names(pattern);
      if (names == nullptr) return Verdict::kUnknown;
      if (!names->accepts(name)) continue;
      is_known = true;
      join(all, this->schema(pattern, member));
    }
  }
  const auto others = tree_.find(schema, "additionalProperties");
  if (others && !is_known) join(all, this->schema(*others, member));
  return all;
}

}  // namespace octavo
