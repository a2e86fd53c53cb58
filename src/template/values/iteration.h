// Going through values one by one, as Python's iter() and len() do.
#pragma once

#include <optional>
#include <vector>

#include "template/values/evaluation.h"

namespace octavo::jinja {

/// Gives one value after another, once. Filters such as `map` and `select` are iterators, which evaluate an item when
/// it is asked for. A struct that begins with an Iterator holds the state of one kind.
struct Iterator {
  using Next = bool (*)(Evaluation&, Iterator&, Value& item);
  Next next;
};

/// An iterator over any value that has items; other values fail.
Iterator* iterate(Evaluation& evaluation, const Value& value);
/// The next value; none at the end.
std::optional<Value> next_of(Evaluation& evaluation, Iterator& iterator);
/// All values that are left.
std::vector<Value> collect(Evaluation& evaluation, const Value& iterable);
bool is_iterable(const Value& value);
/// Python's len(); none for a value without a length.
std::optional<std::int64_t> length_of(Evaluation& evaluation, const Value& value);
/// The value at an index of a view of a dict.
Value item_of_view(Evaluation& evaluation, const DictView& view, std::size_t index);
inline Value item_of_range(const Range& range, std::int64_t index) {
  return Value::integer(range.start + index * range.step);
}

/// An iterator over values that are all there.
Iterator* iterate_items(Evaluation& evaluation, std::span<const Value> items);

}  // namespace octavo::jinja
