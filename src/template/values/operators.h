// Python's operators on values.
#pragma once

#include "template/values/evaluation.h"

namespace octavo::jinja {

// clang-format off
enum class Operator : std::uint8_t {
  kAdd, kSubtract, kMultiply, kDivide, kFloorDivide, kModulo, kPower,
  kEqual, kNotEqual, kLess, kLessEqual, kGreater, kGreaterEqual, kIn, kNotIn,
  kNegate, kKeepSign,
};

// clang-format on

std::string_view symbol_of(Operator op);

/// Whether a condition on the value holds.
bool is_true(Evaluation& evaluation, const Value& value);
bool equal(Evaluation& evaluation, const Value& left, const Value& right);
/// Below 0, 0 or above 0. Values without an order fail, with `op` in the message.
int order(Evaluation& evaluation, const Value& left, const Value& right, Operator op);
bool contains(Evaluation& evaluation, const Value& container, const Value& item);
bool compare(Evaluation& evaluation, Operator op, const Value& left, const Value& right);
Value calculate(Evaluation& evaluation, Operator op, const Value& left, const Value& right);
Value calculate_unary(Evaluation& evaluation, Operator op, const Value& value);
/// Fails in the way of every use of an undefined value.
[[noreturn]] void fail_undefined(Evaluation& evaluation, const Value& value);
/// The place of a text within another from a byte on, or npos. Linear in time.
std::size_t find_bytes(Evaluation& evaluation, std::string_view text, std::string_view wanted, std::size_t from = 0);

}  // namespace octavo::jinja
