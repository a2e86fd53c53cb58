#include "template/builtins/methods.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/to_size.h"
#include "template/builtins/arguments.h"
#include "template/builtins/find_named.h"
#include "template/values/iteration.h"
#include "template/values/operators.h"
#include "template/values/python_text.h"

namespace octavo::jinja {

namespace {

template <DictView::What kWhat>
Value view_method(Evaluation& evaluation, const Call& call) {
  constexpr std::string_view kNames[] = {"keys", "values", "items"};
  const Arguments arguments(evaluation, kNames[to_size(std::to_underlying(kWhat))], call, {"self"}, 1);
  return Value::of(evaluation.arena().make<DictView>(&arguments[0].dict(), kWhat));
}

Value get_method(Evaluation& evaluation, const Call& call) {
  const Arguments arguments(evaluation, "get", call, {"self", "key", "default"}, 2);
  if (!call.named.empty()) evaluation.fail("get() takes no keyword arguments");
  if (!is_hashable(evaluation.arena(), arguments[1])) evaluation.fail("unhashable type: '{}'", type_name(arguments[1]));
  const Entry* entry = find_entry(evaluation.arena(), arguments[0].dict(), arguments[1]);
  return entry == nullptr ? arguments.value_or(2, Value::none()) : entry->value;
}

Value copy_method(Evaluation& evaluation, const Call& call) {
  const Arguments arguments(evaluation, "copy", call, {"self"}, 1);
  return arguments[0];  // nothing changes it
}

Value index_method(Evaluation& evaluation, const Call& call) {
  const Arguments arguments(evaluation, "index", call, {"self", "value"}, 2);
  const auto items = arguments[0].items();
  for (std::size_t i = 0; i < items.size(); ++i)
    if (equal(evaluation, items[i], arguments[1])) return Value::integer(static_cast<std::int64_t>(i));
  evaluation.fail("the value to find the index of is not in the {}", type_name(arguments[0]));
}

Value count_method(Evaluation& evaluation, const Call& call) {
  const Arguments arguments(evaluation, "count", call, {"self", "value"}, 2);
  const auto items = arguments[0].items();
  return Value::integer(std::count_if(items.begin(), items.end(),
                                      [&](const Value& item) { return equal(evaluation, item, arguments[1]); }));
}

Value is_integer_method(Evaluation& evaluation, const Call& call) {
  const Arguments arguments(evaluation, "is_integer", call, {"self"}, 1);
  const double value = arguments[0].as_double();
  return Value::boolean(std::isfinite(value) && std::floor(value) == value);
}

constexpr NamedMethod kDictMethods[] = {
    {"get", get_method},
    {"items", view_method<DictView::What::kItems>},
    {"keys", view_method<DictView::What::kKeys>},
    {"values", view_method<DictView::What::kValues>},
    {"copy", copy_method},
};
constexpr NamedMethod kListMethods[] = {{"index", index_method}, {"count", count_method}, {"copy", copy_method}};
constexpr NamedMethod kFloatMethods[] = {{"is_integer", is_integer_method}};

constexpr std::string_view kRefusedOfDicts[] = {"clear", "pop", "popitem", "setdefault", "update"};
constexpr std::string_view kRefusedOfLists[] = {"append", "clear", "pop",    "reverse",
                                                "insert", "sort",  "extend", "remove"};

}  // namespace

const NamedMethod* find_method(const Value& value, std::string_view name) {
  switch (value.kind()) {
    case Kind::kText: {
      const NamedMethod* found = find_named(text_methods(), name);
      return found != nullptr ? found : find_named(text_query_methods(), name);
    }
    case Kind::kDict: return find_named(kDictMethods, name);
    case Kind::kList: return find_named(kListMethods, name);
    case Kind::kTuple: return find_named(std::span(kListMethods).first(2), name);
    case Kind::kFloat: return find_named(kFloatMethods, name);
    default: return nullptr;
  }
}

bool is_refused(const Value& value, std::string_view name) {
  if (name.size() > 4 && name.starts_with("__") && name.ends_with("__")) return true;
  const auto is_in = [&](std::span<const std::string_view> names) {
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  return (value.is(Kind::kDict) && is_in(kRefusedOfDicts)) || (value.is(Kind::kList) && is_in(kRefusedOfLists));
}

}  // namespace octavo::jinja
