// Filters that sort and group items.

#include "template/builtins/arguments.h"
#include "template/builtins/filter_arguments.h"
#include "template/builtins/filters.h"
#include "template/builtins/text_operations.h"
#include "template/values/iteration.h"
#include "template/values/operators.h"
#include "template/values/python_text.h"

namespace octavo::jinja {

namespace {

Value filter_sort(Evaluation& evaluation, const Call& call) {
  const Arguments arguments(evaluation, "sort", call, {"value", "reverse", "case_sensitive", "attribute"}, 1);
  const std::vector<Value> items = collect(evaluation, arguments[0]);
  const auto keys = sort_keys(evaluation, items, arguments.value_or(3, Value::none()), !arguments.truth(2, false));
  return evaluation.list(sort_by(evaluation, items, keys, arguments.truth(1, false)));
}

Value filter_dictsort(Evaluation& evaluation, const Call& call) {
  const Arguments arguments(evaluation, "dictsort", call, {"value", "case_sensitive", "by", "reverse"}, 1);
  const std::string_view by = arguments.has(2) ? arguments.text(2).bytes : "key";
  if (by != "key" && by != "value") evaluation.fail("dictsort() sorts by 'key' or 'value', found '{}'", by);
  if (arguments[0].is(Kind::kUndefined)) fail_undefined(evaluation, arguments[0]);
  if (!arguments[0].is(Kind::kDict)) evaluation.fail("dictsort() needs a dict, found {}", type_name(arguments[0]));
  const bool ignore_case = !arguments.truth(1, false);
  std::vector<Value> items, keys;
  for (const Entry& entry : arguments[0].dict().entries) {
    const Value pair[] = {entry.key, entry.value};
    items.push_back(evaluation.tuple(pair));
    Value key = by == "key" ? entry.key : entry.value;
    if (ignore_case && key.is(Kind::kText)) key = Value::of(in_case(evaluation, key.text(), Case::kLower));
    keys.push_back(key);
  }
  return evaluation.list(sort_by(evaluation, items, keys, arguments.truth(3, false)));
}

template <bool kLargest>
Value filter_extreme(Evaluation& evaluation, const Call& call) {
  const Arguments arguments(evaluation, kLargest ? "max" : "min", call, {"value", "case_sensitive", "attribute"}, 1);
  const AttributePath path(evaluation, arguments.value_or(2, Value::none()), !arguments.truth(1, false));
  Iterator* iterator = iterate(evaluation, arguments[0]);
  const auto first = next_of(evaluation, *iterator);
  if (!first) return evaluation.undefined_hint("No aggregated item, sequence was empty.");
  Value best = *first, best_key = path.get(best);
  while (const auto item = next_of(evaluation, *iterator)) {
    const Value key = path.get(*item);
    const bool better = kLargest ? compare(evaluation, Operator::kGreater, key, best_key)
                                 : compare(evaluation, Operator::kLess, key, best_key);
    if (!better) continue;
    best = *item;
    best_key = key;
  }
  return best;
}

Value filter_groupby(Evaluation& evaluation, const Call& call) {
  const Arguments arguments(evaluation, "groupby", call, {"value", "attribute", "default", "case_sensitive"}, 2);
  const bool ignore_case = !arguments.truth(3, false);
  const Value fallback = arguments.value_or(2, Value::none());
  const AttributePath path(evaluation, arguments[1], ignore_case, fallback);
  const AttributePath shown(evaluation, arguments[1], false, fallback);
  const std::vector<Value> items = collect(evaluation, arguments[0]);
  std::vector<Value> keys;
  keys.reserve(items.size());
  for (const Value& item : items) keys.push_back(path.get(item));
  const std::vector<Value> sorted = sort_by(evaluation, items, keys, false);
  std::vector<Value> groups;
  for (std::size_t begin = 0; begin < sorted.size();) {
    const Value key = path.get(sorted[begin]);
    std::size_t end = begin + 1;
    while (end < sorted.size() && equal(evaluation, path.get(sorted[end]), key)) ++end;
    const auto members = std::span(sorted).subspan(begin, end - begin);
    const Value pair[] = {shown.get(members[0]), evaluation.list(members)};
    Arena& arena = evaluation.arena();
    groups.push_back(Value::tuple(arena.make<List>(arena.copy(std::span<const Value>(pair)), true)));
    begin = end;
  }
  return evaluation.list(groups);
}

constexpr NamedFilter kFilters[] = {
    {"sort", filter_sort},         {"dictsort", filter_dictsort}, {"min", filter_extreme<false>},
    {"max", filter_extreme<true>}, {"groupby", filter_groupby},
};

}  // namespace

std::span<const NamedFilter> order_filters() { return kFilters; }

}  // namespace octavo::jinja
