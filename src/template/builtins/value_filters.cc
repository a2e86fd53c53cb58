// Filters of single values: defaults and numbers.
#include <charconv>
#include <cmath>
#include <optional>

#include "template/builtins/arguments.h"
#include "template/builtins/attributes.h"
#include "template/builtins/filters.h"
#include "template/builtins/methods.h"
#include "template/builtins/text_operations.h"
#include "template/values/arithmetic.h"
#include "template/values/operators.h"
#include "template/values/python_text.h"

namespace octavo::jinja {

namespace {

Value filter_default(Evaluation& evaluation, const Call& call) {
  const Arguments arguments(evaluation, "default", call, {"value", "default_value", "boolean"}, 1);
  const bool replaced =
      arguments[0].is(Kind::kUndefined) || (arguments.truth(2, false) && !is_true(evaluation, arguments[0]));
  if (!replaced) return arguments[0];
  return arguments.has(1) ? arguments[1] : evaluation.text("");
}

/// The characters of a number in Python's form, without spaces around it and underscores between digits.
std::optional<std::string> number_characters(Evaluation& evaluation, const Text& text) {
  const std::string_view bytes = strip(evaluation, text, nullptr, Side::kBoth)->bytes;
  std::string kept;
  if (bytes.size() > 1000) return std::nullopt;
  const auto is_alnum = [&](std::size_t at) {
    return at < bytes.size() && std::isalnum(static_cast<unsigned char>(bytes[at])) != 0;
  };
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    if (bytes[at] != '_') {
      kept += bytes[at];
    } else if (at == 0 || !is_alnum(at - 1) || !is_alnum(at + 1)) {
      return std::nullopt;
    }
  }
  return kept;
}

/// Python's int(text, base), or nothing where it raises.
std::optional<std::int64_t> parse_integer(Evaluation& evaluation, const Text& text, std::int64_t base) {
  auto characters = number_characters(evaluation, text);
  if (!characters || characters->empty()) return std::nullopt;
  const bool negative = characters->front() == '-';
  std::string digits = characters->substr(negative || characters->front() == '+' ? 1 : 0);
  const auto drop_prefix = [&](char letter, std::int64_t prefix_base) {
    const bool has = digits.size() > 2 && digits[0] == '0' && (digits[1] | 0x20) == letter;
    if (!has || (base != 0 && base != prefix_base)) return;
    base = prefix_base;
    digits.erase(0, 2);
  };
  drop_prefix('x', 16);
  drop_prefix('o', 8);
  drop_prefix('b', 2);
  if (base == 0) base = 10;
  if (base < 2 || base > 36 || digits.empty() || digits[0] == '-' || digits[0] == '+') return std::nullopt;
  std::int64_t value = 0;
  const std::string signed_digits = (negative ? "-" : "") + digits;
  const char* end = signed_digits.data() + signed_digits.size();
  const auto [stop, error] = std::from_chars(signed_digits.data(), end, value, static_cast<int>(base));
  if (stop != end) return std::nullopt;
  if (error == std::errc::result_out_of_range) evaluation.fail("int() of an integer beyond 64 bits");
  if (error != std::errc{}) return std::nullopt;
  return value;
}

std::optional<double> parse_float(Evaluation& evaluation, const Text& text) {
  const auto characters = number_characters(evaluation, text);
  if (!characters || characters->empty()) return std::nullopt;
  const std::size_t sign = characters->front() == '-' || characters->front() == '+' ? 1 : 0;
  const char first = characters->size() > sign ? (*characters)[sign] : '\0';
  if (first == '-' || first == '+' || first == '\0') return std::nullopt;
  if (characters->find('(') != std::string::npos) return std::nullopt;
  double value = 0;
  const char* end = characters->data() + characters->size();
  const char* begin = characters->data() + (characters->front() == '+' ? 1 : 0);
  const auto [stop, error] = std::from_chars(begin, end, value);
  if (stop != end) return std::nullopt;
  if (error == std::errc::result_out_of_range) {
    // As in Python, numbers that are too small become 0, and those that are too large become infinite.
    const bool tiny = characters->find("e-") != std::string::npos || characters->find("E-") != std::string::npos;
    value = tiny ? 0.0 : HUGE_VAL;
    return sign == 1 && characters->front() == '-' ? -value : value;
  }
  return value;
}

Value filter_int(Evaluation& evaluation, const Call& call) {
  const Arguments arguments(evaluation, "int", call, {"value", "default", "base"}, 1);
  const Value& value = arguments[0];
  const Value fallback = arguments.value_or(1, Value::integer(0));
  if (value.is(Kind::kUndefined)) fail_undefined(evaluation, value);
  if (value.is_integer()) return Value::integer(value.as_int());
  if (value.is(Kind::kFloat)) {
    if (std::isnan(value.as_double())) return fallback;
    return Value::integer(to_integer(evaluation, value.as_double()));
  }
  if (!value.is(Kind::kText)) return fallback;
  if (const auto number = parse_integer(evaluation, value.text(), arguments.integer(2, 10)))
    return Value::integer(*number);
  const auto number = parse_float(evaluation, value.text());
  if (!number || !std::isfinite(*number)) return fallback;
  return Value::integer(to_integer(evaluation, *number));
}

Value filter_float(Evaluation& evaluation, const Call& call) {
  const Arguments arguments(evaluation, "float", call, {"value", "default"}, 1);
  const Value& value = arguments[0];
  if (value.is(Kind::kUndefined)) fail_undefined(evaluation, value);
  if (value.is_number()) return Value::real(value.as_double());
  const auto number = value.is(Kind::kText) ? parse_float(evaluation, value.text()) : std::nullopt;
  return number ? Value::real(*number) : arguments.value_or(1, Value::real(0));
}

/// Python's round(): to the nearest number, and of two equally near to the even one, by the float's exact decimal
/// digits.
double round_float(Evaluation& evaluation, double value, std::int64_t precision) {
  if (!std::isfinite(value) || precision > 350) return value;
  if (precision < -310) return std::copysign(0.0, value);
  if (precision < 0) {
    const double unit = std::pow(10.0, static_cast<double>(-precision));
    return std::nearbyint(value / unit) * unit;
  }
  const std::string digits = fmt::format("{:.{}f}", value, precision);
  const Text text{.bytes = digits, .spans = {}};
  return parse_float(evaluation, text).value_or(value);
}

Value round_integer(Evaluation& evaluation, std::int64_t value, std::int64_t precision) {
  if (precision >= 0) return Value::integer(value);
  if (precision < -18) return Value::integer(0);
  const std::int64_t unit =
      calculate(evaluation, Operator::kPower, Value::integer(10), Value::integer(-precision)).as_int();
  std::int64_t quotient = floor_divide(value, unit);
  const std::int64_t rest = value - quotient * unit;
  if (rest > unit - rest || (rest == unit - rest && quotient % 2 != 0)) ++quotient;
  return Value::integer(quotient * unit);
}

Value filter_round(Evaluation& evaluation, const Call& call) {
  const Arguments arguments(evaluation, "round", call, {"value", "precision", "method"}, 1);
  const Value& value = arguments[0];
  const std::string_view method = arguments.has(2) ? arguments.text(2).bytes : "common";
  if (method != "common" && method != "ceil" && method != "floor")
    evaluation.fail("round() needs the method common, ceil or floor, found '{}'", method);
  if (value.is(Kind::kUndefined)) fail_undefined(evaluation, value);
  if (!value.is_number()) evaluation.fail("round() needs a number, found {}", type_name(value));
  const std::int64_t precision = arguments.integer(1, 0);
  if (method == "common") {
    if (value.is_integer()) return round_integer(evaluation, value.as_int(), precision);
    return Value::real(round_float(evaluation, value.as_double(), precision));
  }
  const Value unit = calculate(evaluation, Operator::kPower, Value::integer(10), Value::integer(precision));
  const Value scaled = calculate(evaluation, Operator::kMultiply, value, unit);
  const double whole = method == "ceil" ? std::ceil(scaled.as_double()) : std::floor(scaled.as_double());
  return calculate(evaluation, Operator::kDivide, Value::integer(to_integer(evaluation, whole)), unit);
}

Value filter_abs(Evaluation& evaluation, const Call& call) {
  const Arguments arguments(evaluation, "abs", call, {"x"}, 1);
  const Value& value = arguments[0];
  if (!value.is_number()) evaluation.fail("abs() needs a number, found {}", type_name(value));
  if (value.is(Kind::kFloat)) return Value::real(std::abs(value.as_double()));
  return value.as_int() < 0 ? calculate_unary(evaluation, Operator::kNegate, value) : Value::integer(value.as_int());
}

/// Gets an attribute, never an item.
Value filter_attr(Evaluation& evaluation, const Call& call) {
  const Arguments arguments(evaluation, "attr", call, {"obj", "name"}, 2);
  const Text& name = arguments.text(1);
  if (arguments[0].is(Kind::kDict) && find_method(arguments[0], name.bytes) == nullptr)
    return Value::of(evaluation.arena().make<Undefined>(&name, type_name(arguments[0])));
  return get_attribute(evaluation, arguments[0], name);
}

constexpr NamedFilter kFilters[] = {
    {"default", filter_default}, {"d", filter_default}, {"int", filter_int},   {"float", filter_float},
    {"round", filter_round},     {"abs", filter_abs},   {"attr", filter_attr},
};

}  // namespace

std::span<const NamedFilter> value_filters() { return kFilters; }

}  // namespace octavo::jinja
