#include "template/run/expression_evaluator.h"

#include "template/builtins/attributes.h"
#include "template/run/statement_runner.h"
#include "template/values/iteration.h"
#include "template/values/operators.h"
#include "template/values/python_text.h"

namespace octavo::jinja {

Value ExpressionEvaluator::evaluate(const Expression& expression, Frame& frame) {
  const Evaluation::Nesting nesting(evaluation_);
  evaluation_.step();
  evaluation_.set_where(expression.where);
  switch (expression.kind) {
    case ExpressionKind::kConstant: return expression.constant;
    case ExpressionKind::kName:
    case ExpressionKind::kAttributeOf: return evaluate_name(expression, frame);
    case ExpressionKind::kList:
      return Value::list(evaluation_.arena().make<List>(evaluate_all(expression.parts, frame)));
    case ExpressionKind::kTuple:
      return Value::tuple(evaluation_.arena().make<List>(evaluate_all(expression.parts, frame)));
    case ExpressionKind::kDict: return evaluate_dict(expression, frame);
    case ExpressionKind::kAttribute: {
      const Value object = evaluate(*expression.first, frame);
      evaluation_.set_where(expression.where);
      return get_attribute(evaluation_, object, *expression.name);
    }
    case ExpressionKind::kItem: {
      const Value object = evaluate(*expression.first, frame);
      const Value key = evaluate(*expression.second, frame);
      evaluation_.set_where(expression.where);
      return get_item(evaluation_, object, key);
    }
    case ExpressionKind::kSlice: return evaluate_slice(expression, frame);
    case ExpressionKind::kCall: {
      const Value callee = evaluate(*expression.first, frame);
      const CallValues values = evaluate_arguments(expression, frame, nullptr, nullptr);
      evaluation_.set_where(expression.where);
      return runner_.call(callee, {values.arguments, values.named});
    }
    case ExpressionKind::kFilter: return apply(expression, frame, evaluate(*expression.first, frame), false);
    case ExpressionKind::kTest: return apply(expression, frame, evaluate(*expression.first, frame), true);
    case ExpressionKind::kNot: return Value::boolean(!is_true(evaluation_, evaluate(*expression.first, frame)));
    case ExpressionKind::kAnd: {
      const Value left = evaluate(*expression.first, frame);
      return is_true(evaluation_, left) ? evaluate(*expression.second, frame) : left;
    }
    case ExpressionKind::kOr: {
      const Value left = evaluate(*expression.first, frame);
      return is_true(evaluation_, left) ? left : evaluate(*expression.second, frame);
    }
    case ExpressionKind::kCompare: return evaluate_comparison(expression, frame);
    case ExpressionKind::kBinary: {
      const Value left = evaluate(*expression.first, frame);
      const Value right = evaluate(*expression.second, frame);
      evaluation_.set_where(expression.where);
      return calculate(evaluation_, expression.operation, left, right);
    }
    case ExpressionKind::kUnary:
      return calculate_unary(evaluation_, expression.operation, evaluate(*expression.first, frame));
    case ExpressionKind::kConcat: return evaluate_concat(expression, frame);
    case ExpressionKind::kConditional: return evaluate_conditional(expression, frame);
  }
  return {};
}

Value ExpressionEvaluator::evaluate_name(const Expression& expression, Frame& frame) {
  const Value value = slot_in(frame, expression.slot);
  return value.is(Kind::kMissing) ? evaluation_.undefined_name(expression.name) : value;
}

Value ExpressionEvaluator::evaluate_dict(const Expression& expression, Frame& frame) {
  DictBuilder entries(evaluation_.arena());
  for (std::size_t i = 0; i < expression.parts.size(); i += 2) {
    const Value key = evaluate(*expression.parts[i], frame);
    const Value value = evaluate(*expression.parts[i + 1], frame);
    if (!is_hashable(evaluation_.arena(), key)) evaluation_.fail("unhashable type: '{}'", type_name(key));
    entries.put(key, value);
  }
  return Value::of(entries.finish());
}

Value ExpressionEvaluator::evaluate_slice(const Expression& expression, Frame& frame) {
  const Value object = evaluate(*expression.first, frame);
  Value bounds[3] = {Value::none(), Value::none(), Value::none()};
  for (std::size_t i = 0; i < 3; ++i)
    if (expression.parts[i] != nullptr) bounds[i] = evaluate(*expression.parts[i], frame);
  evaluation_.set_where(expression.where);
  return get_slice(evaluation_, object, bounds);
}

Value ExpressionEvaluator::evaluate_comparison(const Expression& expression, Frame& frame) {
  Value left = evaluate(*expression.first, frame);
  for (std::size_t i = 0; i < expression.operators.size(); ++i) {
    const Value right = evaluate(*expression.parts[i], frame);
    evaluation_.set_where(expression.where);
    if (!compare(evaluation_, expression.operators[i], left, right)) return Value::boolean(false);
    left = right;
  }
  return Value::boolean(true);
}

Value ExpressionEvaluator::evaluate_concat(const Expression& expression, Frame& frame) {
  TextBuilder out(evaluation_.arena());
  const std::span<const Value> parts = evaluate_all(expression.parts, frame);
  evaluation_.set_where(expression.where);
  for (const Value& part : parts) append_str(evaluation_, out, part);
  return Value::of(out.finish());
}

Value ExpressionEvaluator::evaluate_conditional(const Expression& expression, Frame& frame) {
  if (is_true(evaluation_, evaluate(*expression.second, frame))) return evaluate(*expression.first, frame);
  if (expression.third != nullptr) return evaluate(*expression.third, frame);
  return evaluation_.undefined_hint("the inline if-expression evaluated to false and no else section was defined");
}

std::span<const Value> ExpressionEvaluator::evaluate_all(std::span<Expression* const> parts, Frame& frame) {
  const std::span<Value> values = evaluation_.arena().array<Value>(parts.size());
  for (std::size_t i = 0; i < parts.size(); ++i) values[i] = evaluate(*parts[i], frame);
  return values;
}

ExpressionEvaluator::CallValues ExpressionEvaluator::evaluate_arguments(const Expression& call, Frame& frame,
                                                                        const Value* first, const Value* caller) {
  Arena& arena = evaluation_.arena();
  const std::size_t num_before = first == nullptr ? 0 : 1;
  const std::span<Value> arguments = arena.array<Value>(num_before + call.parts.size());
  if (first != nullptr) arguments[0] = *first;
  for (std::size_t i = 0; i < call.parts.size(); ++i) arguments[num_before + i] = evaluate(*call.parts[i], frame);
  const std::span<NamedValue> named = arena.array<NamedValue>(call.named.size() + (caller == nullptr ? 0 : 1));
  for (std::size_t i = 0; i < call.named.size(); ++i)
    named[i] = {call.named[i].name, evaluate(*call.named[i].value, frame)};
  if (caller != nullptr) named.back() = {borrow_text(arena, "caller"), *caller};
  CallValues values{arguments, named};
  if (call.rest != nullptr) values.arguments = with_rest(call, frame, {arguments.begin(), arguments.end()});
  if (call.named_rest != nullptr) values.named = with_named_rest(call, frame, {named.begin(), named.end()});
  return values;
}

std::span<const Value> ExpressionEvaluator::with_rest(const Expression& call, Frame& frame,
                                                      std::vector<Value> arguments) {
  const std::vector<Value> rest = collect(evaluation_, evaluate(*call.rest, frame));
  arguments.insert(arguments.end(), rest.begin(), rest.end());
  return evaluation_.arena().copy(arguments);
}

std::span<const NamedValue> ExpressionEvaluator::with_named_rest(const Expression& call, Frame& frame,
                                                                 std::vector<NamedValue> named) {
  const Value rest = evaluate(*call.named_rest, frame);
  if (!rest.is(Kind::kDict)) evaluation_.fail("argument after ** must be a mapping, not {}", type_name(rest));
  const std::size_t num_given = named.size();
  for (const Entry& entry : rest.dict().entries) {
    evaluation_.step();
    if (!entry.key.is(Kind::kText)) evaluation_.fail("keywords must be strings, found {}", type_name(entry.key));
    for (std::size_t i = 0; i < num_given; ++i)
      if (named[i].name->bytes == entry.key.text().bytes)
        evaluation_.fail("got multiple values for keyword argument '{}'", named[i].name->bytes);
    named.push_back({&entry.key.text(), entry.value});
  }
  return evaluation_.arena().copy(named);
}

Value ExpressionEvaluator::apply(const Expression& expression, Frame& frame, const Value& operand, bool is_test) {
  const CallValues values = evaluate_arguments(expression, frame, &operand, nullptr);
  evaluation_.set_where(expression.where);
  if (expression.filter == nullptr)
    evaluation_.fail("No {} named '{}'.", is_test ? "test" : "filter", expression.name->bytes);
  return expression.filter->call(evaluation_, {values.arguments, values.named});
}

Value ExpressionEvaluator::apply_filter(const Expression& filter, Frame& frame, const Value& text) {
  const Evaluation::Nesting nesting(evaluation_);
  return apply(filter, frame, filter.first == nullptr ? text : apply_filter(*filter.first, frame, text), false);
}

Value ExpressionEvaluator::call_with_body(const Expression& call, Frame& frame, const Value& caller) {
  const Value callee = evaluate(*call.first, frame);
  const CallValues values = evaluate_arguments(call, frame, nullptr, &caller);
  evaluation_.set_where(call.where);
  return runner_.call(callee, {values.arguments, values.named});
}

}  // namespace octavo::jinja
