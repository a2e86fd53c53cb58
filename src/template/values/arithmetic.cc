#include "template/values/arithmetic.h"

#include <cmath>

#include "base/float_repr.h"
#include "base/to_size.h"
#include "template/values/printf_format.h"
#include "template/values/python_text.h"

namespace octavo::jinja {

namespace {

[[noreturn]] void fail_types(Evaluation& evaluation, Operator op, const Value& left, const Value& right) {
  evaluation.fail("unsupported operand types for {}: '{}' and '{}'", symbol_of(op), type_name(left), type_name(right));
}

[[noreturn]] void fail_overflow(Evaluation& evaluation, Operator op) {
  evaluation.fail("the result of {} is an integer beyond 64 bits", symbol_of(op));
}

[[noreturn]] void fail_zero(Evaluation& evaluation, Operator op) {
  evaluation.fail("{} by zero", op == Operator::kModulo ? "modulo" : "division");
}

std::int64_t power(Evaluation& evaluation, std::int64_t base, std::int64_t exponent) {
  std::int64_t result = 1;
  while (exponent > 0) {
    if ((exponent & 1) != 0 && __builtin_mul_overflow(result, base, &result))
      fail_overflow(evaluation, Operator::kPower);
    exponent >>= 1;
    if (exponent > 0 && __builtin_mul_overflow(base, base, &base)) fail_overflow(evaluation, Operator::kPower);
  }
  return result;
}

Value integers(Evaluation& evaluation, Operator op, std::int64_t left, std::int64_t right) {
  std::int64_t result = 0;
  switch (op) {
    case Operator::kAdd:
      if (__builtin_add_overflow(left, right, &result)) fail_overflow(evaluation, op);
      return Value::integer(result);
    case Operator::kSubtract:
      if (__builtin_sub_overflow(left, right, &result)) fail_overflow(evaluation, op);
      return Value::integer(result);
    case Operator::kMultiply:
      if (__builtin_mul_overflow(left, right, &result)) fail_overflow(evaluation, op);
      return Value::integer(result);
    case Operator::kDivide:
      if (right == 0) fail_zero(evaluation, op);
      return Value::real(static_cast<double>(left) / static_cast<double>(right));
    case Operator::kFloorDivide:
    case Operator::kModulo:
      if (right == 0) fail_zero(evaluation, op);
      if (right == -1)
        return op == Operator::kModulo ? Value::integer(0) : integers(evaluation, Operator::kSubtract, 0, left);
      result = floor_divide(left, right);
      return Value::integer(op == Operator::kModulo ? left - result * right : result);
    default: break;
  }
  if (right >= 0) return Value::integer(power(evaluation, left, right));
  if (left == 0) fail_zero(evaluation, op);
  return Value::real(std::pow(static_cast<double>(left), static_cast<double>(right)));
}

/// Python's float_divmod: the remainder has the divisor's sign.
Value divide_floats(Evaluation& evaluation, Operator op, double left, double right) {
  if (right == 0) fail_zero(evaluation, op);
  double remainder = std::fmod(left, right);
  double quotient = (left - remainder) / right;
  if (remainder != 0) {
    if ((right < 0) != (remainder < 0)) {
      remainder += right;
      quotient -= 1;
    }
  } else {
    remainder = std::copysign(0.0, right);
  }
  if (op == Operator::kModulo) return Value::real(remainder);
  if (quotient == 0) return Value::real(std::copysign(0.0, left / right));
  const double whole = std::floor(quotient);
  return Value::real(quotient - whole > 0.5 ? whole + 1 : whole);
}

Value floats(Evaluation& evaluation, Operator op, double left, double right) {
  switch (op) {
    case Operator::kAdd: return Value::real(left + right);
    case Operator::kSubtract: return Value::real(left - right);
    case Operator::kMultiply: return Value::real(left * right);
    case Operator::kDivide:
      if (right == 0) fail_zero(evaluation, op);
      return Value::real(left / right);
    case Operator::kFloorDivide:
    case Operator::kModulo: return divide_floats(evaluation, op, left, right);
    default: break;
  }
  if (left == 0 && right < 0) fail_zero(evaluation, op);
  const double result = std::pow(left, right);
  if (std::isnan(result) && !std::isnan(left) && !std::isnan(right))
    evaluation.fail("** of a negative number and a fraction is a complex number, expected a real one");
  if (std::isinf(result) && std::isfinite(left) && std::isfinite(right))
    evaluation.fail("the result of ** is beyond the largest float");
  return Value::real(result);
}

Value repeat(Evaluation& evaluation, const Value& value, std::int64_t times) {
  Arena& arena = evaluation.arena();
  const std::size_t count = times < 0 ? 0 : to_size(times);
  if (value.is(Kind::kText)) {
    const Text& text = value.text();
    TextBuilder out(arena);
    if (text.spans.empty()) {
      out.append_repeated(text.bytes, count, text.origin);
    } else {
      for (std::size_t i = 0; i < count; ++i) out.append(text);
    }
    return Value::of(with_markup(arena, *out.finish(), text.is_markup));
  }
  const auto items = value.items();
  if (!items.empty() && count > SIZE_MAX / sizeof(Value) / 2 / items.size()) arena.charge_bytes(SIZE_MAX / 2);
  const auto repeated = arena.array<Value>(items.size() * count);
  for (std::size_t i = 0; i < repeated.size(); ++i) repeated[i] = items[i % items.size()];
  const List* list = arena.make<List>(repeated);
  return value.is(Kind::kList) ? Value::list(list) : Value::tuple(list);
}

Value join_sequences(Evaluation& evaluation, const Value& left, const Value& right) {
  const auto items = evaluation.arena().array<Value>(left.items().size() + right.items().size());
  std::copy(left.items().begin(), left.items().end(), items.begin());
  std::copy(right.items().begin(), right.items().end(),
            items.begin() + static_cast<std::ptrdiff_t>(left.items().size()));
  const List* list = evaluation.arena().make<List>(items);
  return left.is(Kind::kList) ? Value::list(list) : Value::tuple(list);
}

bool is_repeatable(const Value& value) { return value.is(Kind::kText) || value.is_sequence(); }

}  // namespace

std::int64_t floor_divide(std::int64_t left, std::int64_t right) {
  const std::int64_t quotient = left / right;
  return left % right != 0 && (left < 0) != (right < 0) ? quotient - 1 : quotient;
}

std::int64_t to_integer(Evaluation& evaluation, double value) {
  if (!(std::abs(value) < 9.2e18))
    evaluation.fail("cannot convert float {} to an integer of 64 bits", float_repr(value));
  return static_cast<std::int64_t>(value);
}

void append_escaped(TextBuilder& out, const Text& text) {
  std::size_t begun = 0;
  for (std::size_t at = 0; at < text.bytes.size(); ++at) {
    std::string_view entity;
    switch (text.bytes[at]) {
      case '&': entity = "&amp;"; break;
      case '<': entity = "&lt;"; break;
      case '>': entity = "&gt;"; break;
      case '\'': entity = "&#39;"; break;
      case '"': entity = "&#34;"; break;
      default: continue;
    }
    out.append_part(text, begun, at);
    out.append(entity, text.origin_at(at));
    begun = at + 1;
  }
  out.append_part(text, begun, text.bytes.size());
}

const Text* concatenate(Evaluation& evaluation, const Text& left, const Text& right) {
  TextBuilder out(evaluation.arena());
  const bool is_markup = left.is_markup || right.is_markup;
  for (const Text* part : {&left, &right}) {
    if (is_markup && !part->is_markup) {
      append_escaped(out, *part);
    } else {
      out.append(*part);
    }
  }
  return with_markup(evaluation.arena(), *out.finish(), is_markup);
}

Value calculate(Evaluation& evaluation, Operator op, const Value& left, const Value& right) {
  evaluation.step();
  if (left.is_integer() && right.is_integer()) return integers(evaluation, op, left.as_int(), right.as_int());
  if (left.is_number() && right.is_number()) return floats(evaluation, op, left.as_double(), right.as_double());
  if (op == Operator::kModulo && left.is(Kind::kText)) return Value::of(format_printf(evaluation, left.text(), right));
  if (left.is(Kind::kUndefined)) fail_undefined(evaluation, left);
  if (right.is(Kind::kUndefined)) fail_undefined(evaluation, right);
  if (op == Operator::kAdd) {
    if (left.is(Kind::kText) && right.is(Kind::kText))
      return Value::of(concatenate(evaluation, left.text(), right.text()));
    if (left.is_sequence() && left.kind() == right.kind()) return join_sequences(evaluation, left, right);
  }
  if (op == Operator::kMultiply) {
    if (is_repeatable(left) && right.is_integer()) return repeat(evaluation, left, right.as_int());
    if (left.is_integer() && is_repeatable(right)) return repeat(evaluation, right, left.as_int());
  }
  fail_types(evaluation, op, left, right);
}

Value calculate_unary(Evaluation& evaluation, Operator op, const Value& value) {
  if (value.is(Kind::kUndefined)) fail_undefined(evaluation, value);
  if (!value.is_number()) evaluation.fail("bad operand type for unary {}: '{}'", symbol_of(op), type_name(value));
  if (op == Operator::kKeepSign) return value.is(Kind::kFloat) ? value : Value::integer(value.as_int());
  if (value.is(Kind::kFloat)) return Value::real(-value.as_double());
  return integers(evaluation, Operator::kSubtract, 0, value.as_int());
}

}  // namespace octavo::jinja
