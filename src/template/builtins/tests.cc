#include "template/builtins/tests.h"

#include "template/builtins/arguments.h"
#include "template/builtins/methods.h"
#include "template/values/iteration.h"
#include "template/values/operators.h"
#include "template/values/python_text.h"

namespace octavo::jinja {

namespace {

/// The value of a test without arguments.
Value only(Evaluation& evaluation, std::string_view name, const Call& call) {
  return Arguments(evaluation, name, call, {"value"}, 1)[0];
}

template <Kind kKind>
Value is_kind(Evaluation& evaluation, const Call& call) {
  return Value::boolean(only(evaluation, "is", call).is(kKind));
}

template <bool kWanted>
Value is_bool(Evaluation& evaluation, const Call& call) {
  const Value value = only(evaluation, kWanted ? "true" : "false", call);
  return Value::boolean(value.is(Kind::kBool) && value.as_bool() == kWanted);
}

template <bool (*kTest)(const Value&)>
Value is_what(Evaluation& evaluation, const Call& call) {
  return Value::boolean(kTest(only(evaluation, "is", call)));
}

bool is_defined(const Value& value) { return !value.is(Kind::kUndefined); }
bool is_number(const Value& value) { return value.is_number(); }

bool is_indexed(const Value& value) {
  return value.is(Kind::kText) || value.is_sequence() || value.is(Kind::kDict) || value.is(Kind::kRange) ||
         value.is(Kind::kUndefined);
}

bool is_callable(const Value& value) {
  switch (value.kind()) {
    case Kind::kUndefined:  // has a __call__, which fails
    case Kind::kFunction:
    case Kind::kMethod:
    case Kind::kMacro:
    case Kind::kLoop:
    case Kind::kJoiner: return true;
    default: return false;
  }
}

bool is_escaped(const Value& value) { return value.is(Kind::kText) && value.text().is_markup; }

template <Operator kOperator>
Value compares(Evaluation& evaluation, const Call& call) {
  const Arguments arguments(evaluation, symbol_of(kOperator), call, {"value", "other"}, 2);
  return Value::boolean(compare(evaluation, kOperator, arguments[0], arguments[1]));
}

template <bool kOdd>
Value is_odd(Evaluation& evaluation, const Call& call) {
  const Value rest =
      calculate(evaluation, Operator::kModulo, only(evaluation, kOdd ? "odd" : "even", call), Value::integer(2));
  return Value::boolean(equal(evaluation, rest, Value::integer(kOdd ? 1 : 0)));
}

Value is_divisible(Evaluation& evaluation, const Call& call) {
  const Arguments arguments(evaluation, "divisibleby", call, {"value", "num"}, 2);
  const Value rest = calculate(evaluation, Operator::kModulo, arguments[0], arguments[1]);
  return Value::boolean(equal(evaluation, rest, Value::integer(0)));
}

Value is_same(Evaluation& evaluation, const Call& call) {
  const Arguments arguments(evaluation, "sameas", call, {"value", "other"}, 2);
  const Value &left = arguments[0], &right = arguments[1];
  if (left.kind() != right.kind()) return Value::boolean(false);
  if (left.is_number()) return Value::boolean(equal(evaluation, left, right));
  return Value::boolean(left.is(Kind::kNone) || left.same_object(right));
}

template <bool kUpper>
Value is_cased(Evaluation& evaluation, const Call& call) {
  const Value text = Value::of(to_text(evaluation, only(evaluation, kUpper ? "upper" : "lower", call)));
  return find_method(text, kUpper ? "isupper" : "islower")->call(evaluation, {.arguments = {&text, 1}, .named = {}});
}

template <const NamedFilter* (*kFind)(std::string_view)>
Value is_named(Evaluation& evaluation, const Call& call) {
  const Value name = only(evaluation, "is", call);
  return Value::boolean(name.is(Kind::kText) && kFind(name.text().bytes) != nullptr);
}

constexpr NamedFilter kTests[] = {
    {"defined", is_what<is_defined>},
    {"undefined", is_kind<Kind::kUndefined>},
    {"none", is_kind<Kind::kNone>},
    {"string", is_kind<Kind::kText>},
    {"mapping", is_kind<Kind::kDict>},
    {"iterable", is_what<is_iterable>},
    {"sequence", is_what<is_indexed>},
    {"boolean", is_kind<Kind::kBool>},
    {"true", is_bool<true>},
    {"false", is_bool<false>},
    {"integer", is_kind<Kind::kInt>},
    {"float", is_kind<Kind::kFloat>},
    {"number", is_what<is_number>},
    {"callable", is_what<is_callable>},
    {"escaped", is_what<is_escaped>},
    {"==", compares<Operator::kEqual>},
    {"eq", compares<Operator::kEqual>},
    {"equalto", compares<Operator::kEqual>},
    {"!=", compares<Operator::kNotEqual>},
    {"ne", compares<Operator::kNotEqual>},
    {"<", compares<Operator::kLess>},
    {"lt", compares<Operator::kLess>},
    {"lessthan", compares<Operator::kLess>},
    {"<=", compares<Operator::kLessEqual>},
    {"le", compares<Operator::kLessEqual>},
    {">", compares<Operator::kGreater>},
    {"gt", compares<Operator::kGreater>},
    {"greaterthan", compares<Operator::kGreater>},
    {">=", compares<Operator::kGreaterEqual>},
    {"ge", compares<Operator::kGreaterEqual>},
    {"in", compares<Operator::kIn>},
    {"odd", is_odd<true>},
    {"even", is_odd<false>},
    {"divisibleby", is_divisible},
    {"sameas", is_same},
    {"lower", is_cased<false>},
    {"upper", is_cased<true>},
    {"filter", is_named<find_filter>},
    {"test", is_named<find_test>},
};

}  // namespace

std::span<const NamedFilter> all_tests() { return kTests; }

}  // namespace octavo::jinja
