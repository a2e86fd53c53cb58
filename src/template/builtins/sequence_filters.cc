// Filters that take a part of a sequence, or make a list of it.
#include <algorithm>

#include "template/builtins/arguments.h"
#include "template/builtins/filter_arguments.h"
#include "template/builtins/filters.h"
#include "template/values/iteration.h"
#include "template/values/operators.h"
#include "template/values/python_text.h"
#include "template/values/reversal.h"

namespace octavo::jinja {

namespace {

Value filter_length(Evaluation& evaluation, const Call& call) {
  const Arguments arguments(evaluation, "length", call, {"obj"}, 1);
  const auto length = length_of(evaluation, arguments[0]);
  if (!length) evaluation.fail("object of type '{}' has no len()", type_name(arguments[0]));
  return Value::integer(*length);
}

Value filter_list(Evaluation& evaluation, const Call& call) {
  const Arguments arguments(evaluation, "list", call, {"value"}, 1);
  return evaluation.list(collect(evaluation, arguments[0]));
}

Value filter_first(Evaluation& evaluation, const Call& call) {
  const Arguments arguments(evaluation, "first", call, {"seq"}, 1);
  const auto item = next_of(evaluation, *iterate(evaluation, arguments[0]));
  return item ? *item : evaluation.undefined_hint("No first item, sequence was empty.");
}

Value filter_last(Evaluation& evaluation, const Call& call) {
  const Arguments arguments(evaluation, "last", call, {"seq"}, 1);
  Iterator* reversed = iterate_reversed(evaluation, arguments[0]);
  if (reversed == nullptr) evaluation.fail("'{}' object is not reversible", type_name(arguments[0]));
  const auto item = next_of(evaluation, *reversed);
  return item ? *item : evaluation.undefined_hint("No last item, sequence was empty.");
}

Value filter_reverse(Evaluation& evaluation, const Call& call) {
  const Arguments arguments(evaluation, "reverse", call, {"value"}, 1);
  const Value& value = arguments[0];
  if (value.is(Kind::kText)) return Value::of(reverse_text(evaluation, value.text()));
  if (Iterator* reversed = iterate_reversed(evaluation, value)) return Value::of(reversed);
  std::vector<Value> items = collect(evaluation, value);
  std::reverse(items.begin(), items.end());
  return evaluation.list(items);
}

Value filter_sum(Evaluation& evaluation, const Call& call) {
  const Arguments arguments(evaluation, "sum", call, {"iterable", "attribute", "start"}, 1);
  const AttributePath path(evaluation, arguments.value_or(1, Value::none()));
  Value sum = arguments.value_or(2, Value::integer(0));
  if (sum.is(Kind::kText)) evaluation.fail("sum() can't sum strings [use ''.join(seq) instead]");
  Iterator* iterator = iterate(evaluation, arguments[0]);
  while (const auto item = next_of(evaluation, *iterator))
    sum = calculate(evaluation, Operator::kAdd, sum, path.get(*item));
  return sum;
}

constexpr NamedFilter kFilters[] = {
    {"length", filter_length}, {"count", filter_length},    {"list", filter_list}, {"first", filter_first},
    {"last", filter_last},     {"reverse", filter_reverse}, {"sum", filter_sum},
};

}  // namespace

std::span<const NamedFilter> sequence_filters() { return kFilters; }

}  // namespace octavo::jinja
