#include "template/values/operators.h"

#include <algorithm>
#include <utility>

#include "base/to_size.h"
#include "template/values/arithmetic.h"
#include "template/values/find_text.h"
#include "template/values/iteration.h"
#include "template/values/python_text.h"

namespace octavo::jinja {

namespace {

bool equal_items(Evaluation& evaluation, std::span<const Value> left, std::span<const Value> right) {
  if (left.size() != right.size()) return false;
  for (std::size_t i = 0; i < left.size(); ++i)
    if (!equal(evaluation, left[i], right[i])) return false;
  return true;
}

bool equal_dicts(Evaluation& evaluation, const Dict& left, const Dict& right) {
  if (left.entries.size() != right.entries.size()) return false;
  for (const Entry& entry : left.entries) {
    evaluation.step();
    const Entry* found = find_entry(evaluation.arena(), right, entry.key);
    if (found == nullptr || !equal(evaluation, entry.value, found->value)) return false;
  }
  return true;
}

bool equal_ranges(const Range& left, const Range& right) {
  if (left.size != right.size || left.size == 0) return left.size == right.size;
  return left.start == right.start && (left.size == 1 || left.step == right.step);
}

int sign(bool less, bool greater) { return less ? -1 : greater ? 1 : 0; }

int order_of_numbers(const Value& left, const Value& right) {
  if (left.is_integer() && right.is_integer())
    return sign(left.as_int() < right.as_int(), left.as_int() > right.as_int());
  return sign(left.as_double() < right.as_double(), left.as_double() > right.as_double());
}

/// A NaN is neither below nor above, nor equal.
bool compare_numbers(Operator op, const Value& left, const Value& right) {
  if (left.is_integer() && right.is_integer()) {
    const int order = order_of_numbers(left, right);
    if (op == Operator::kLess) return order < 0;
    if (op == Operator::kLessEqual) return order <= 0;
    return op == Operator::kGreater ? order > 0 : order >= 0;
  }
  const double a = left.as_double(), b = right.as_double();
  if (op == Operator::kLess) return a < b;
  if (op == Operator::kLessEqual) return a <= b;
  return op == Operator::kGreater ? a > b : a >= b;
}

}  // namespace

std::string_view symbol_of(Operator op) {
  constexpr std::string_view kSymbols[] = {
      "+", "-", "*", "/", "//", "%", "**", "==", "!=", "<", "<=", ">", ">=", "in", "not in", "-", "+"};
  return kSymbols[to_size(std::to_underlying(op))];
}

void fail_undefined(Evaluation& evaluation, const Value& value) {
  evaluation.fail("{}", undefined_message(value.as<Undefined>()));
}

bool is_true(Evaluation& evaluation, const Value& value) {
  switch (value.kind()) {
    case Kind::kUndefined:
    case Kind::kMissing:
    case Kind::kNone: return false;
    case Kind::kBool:
    case Kind::kInt: return value.as_int() != 0;
    case Kind::kFloat: return value.as_double() != 0;
    case Kind::kText: return !value.text().bytes.empty();
    default: return length_of(evaluation, value).value_or(1) != 0;
  }
}

bool equal(Evaluation& evaluation, const Value& left, const Value& right) {
  evaluation.step();
  const Evaluation::Nesting nesting(evaluation);
  if (left.is_number() && right.is_number()) {
    if (left.is_integer() && right.is_integer()) return left.as_int() == right.as_int();
    return left.as_double() == right.as_double();
  }
  if (left.kind() != right.kind()) return false;
  switch (left.kind()) {
    case Kind::kUndefined:
    case Kind::kNone: return true;
    case Kind::kText: evaluation.steps_for(left.text().bytes.size()); return left.text().bytes == right.text().bytes;
    case Kind::kList:
    case Kind::kTuple: return left.same_object(right) || equal_items(evaluation, left.items(), right.items());
    case Kind::kDict: return left.same_object(right) || equal_dicts(evaluation, left.dict(), right.dict());
    case Kind::kRange: return equal_ranges(left.as<Range>(), right.as<Range>());
    case Kind::kMethod:
      return left.as<BoundMethod>().method == right.as<BoundMethod>().method &&
             left.as<BoundMethod>().object.same_object(right.as<BoundMethod>().object);
    default: return left.same_object(right);
  }
}

int order(Evaluation& evaluation, const Value& left, const Value& right, Operator op) {
  const Evaluation::Nesting nesting(evaluation);
  evaluation.step();
  if (left.is(Kind::kUndefined)) fail_undefined(evaluation, left);
  if (right.is(Kind::kUndefined)) fail_undefined(evaluation, right);
  if (left.is_number() && right.is_number()) return order_of_numbers(left, right);
  if (left.is(Kind::kText) && right.is(Kind::kText)) {
    evaluation.steps_for(std::min(left.text().bytes.size(), right.text().bytes.size()));
    return left.text().bytes.compare(right.text().bytes);
  }
  if (left.kind() != right.kind() || !left.is_sequence())
    evaluation.fail("'{}' not supported between '{}' and '{}'", symbol_of(op), type_name(left), type_name(right));
  const auto a = left.items(), b = right.items();
  for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i)
    if (!equal(evaluation, a[i], b[i])) return order(evaluation, a[i], b[i], op);
  return sign(a.size() < b.size(), a.size() > b.size());
}

std::size_t find_bytes(Evaluation& evaluation, std::string_view text, std::string_view wanted, std::size_t from) {
  evaluation.steps_for(text.size() - from + wanted.size());
  return find_text(text, wanted, from);
}

bool contains(Evaluation& evaluation, const Value& container, const Value& item) {
  switch (container.kind()) {
    case Kind::kText:
      if (!item.is(Kind::kText))
        evaluation.fail("'in' of a string needs a string to look for, found {}", type_name(item));
      return find_bytes(evaluation, container.text().bytes, item.text().bytes) != std::string_view::npos;
    case Kind::kDict:
      if (!is_hashable(evaluation.arena(), item)) evaluation.fail("unhashable type: '{}'", type_name(item));
      evaluation.step();
      return find_entry(evaluation.arena(), container.dict(), item) != nullptr;
    case Kind::kLoop:
    case Kind::kUndefined:
    case Kind::kList:
    case Kind::kTuple:
    case Kind::kRange:
    case Kind::kDictView:
    case Kind::kIterator: break;
    default: evaluation.fail("argument of type '{}' is not iterable", type_name(container));
  }
  Iterator* iterator = iterate(evaluation, container);
  while (const auto candidate = next_of(evaluation, *iterator))
    if (equal(evaluation, *candidate, item)) return true;
  return false;
}

bool compare(Evaluation& evaluation, Operator op, const Value& left, const Value& right) {
  switch (op) {
    case Operator::kEqual: return equal(evaluation, left, right);
    case Operator::kNotEqual: return !equal(evaluation, left, right);
    case Operator::kIn: return contains(evaluation, right, left);
    case Operator::kNotIn: return !contains(evaluation, right, left);
    default: break;
  }
  if (left.is_number() && right.is_number()) return compare_numbers(op, left, right);
  const int result = order(evaluation, left, right, op);
  if (op == Operator::kLess) return result < 0;
  if (op == Operator::kLessEqual) return result <= 0;
  return op == Operator::kGreater ? result > 0 : result >= 0;
}

}  // namespace octavo::jinja
