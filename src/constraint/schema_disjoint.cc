// Whether two ways can be fulfilled by one value: what makes `oneOf` the same as `anyOf`.
#include <algorithm>
#include <utility>

#include "constraint/schema_expander.h"

namespace octavo {
namespace {

constexpr std::uint64_t kStepsOfPair = 4;

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

}  // namespace

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

/// A value that is known may fulfil a way. Only its type is looked at, and what texts and numbers must be.
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
    report_.work().add(texts->num_transitions() / 4);  // which are copied
    return test.is_negated ? texts->complement() : *texts;
  };
  const auto left = texts_of(a), right = texts_of(b);
  if (!left || !right) return false;
  const auto common = texts_.both(*left, *right);
  return common && common->is_empty();
}

/// One of them must have a member that the other must not have, or that is something else there.
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

}  // namespace octavo
