// Numbers within bounds, as expressions.
//
// Free functions; any thread.
#pragma once

#include <optional>
#include <vector>

#include "constraint/grammar/grammar.h"
#include "constraint/schema/decimal.h"
#include "constraint/schema/schema_facts.h"

namespace octavo {

/// The demands on a number.
struct NumberRange {
  NumberKind kind = NumberKind::kAny;
  std::optional<NumberBound> minimum = {}, maximum = {};
  std::vector<Decimal> divisors = {}, other_values = {};
};

/// The numbers, written without exponent and without a minus before zero; integers have no fraction where all are
/// integers. No value: the bounds or divisors have too many digits, or there are too many other values.
std::optional<ExpressionId> write_number(const NumberRange& range, Grammar& grammar);

}  // namespace octavo
