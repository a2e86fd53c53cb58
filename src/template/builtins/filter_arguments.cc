#include "template/builtins/filter_arguments.h"

#include <algorithm>
#include <charconv>
#include <numeric>

#include "template/builtins/attributes.h"
#include "template/builtins/text_operations.h"
#include "template/values/operators.h"
#include "template/values/python_text.h"

namespace octavo::jinja {

namespace {

Value path_part(Evaluation& evaluation, std::string_view part) {
  const bool is_index = !part.empty() && part.find_first_not_of("0123456789") == std::string_view::npos;
  std::int64_t index = 0;
  if (is_index && std::from_chars(part.data(), part.data() + part.size(), index).ec == std::errc{})
    return Value::integer(index);
  return evaluation.text(part);
}

std::vector<std::string_view> cut(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (std::size_t begin = 0;;) {
    const std::size_t end = std::min(text.size(), text.find(separator, begin));
    parts.push_back(text.substr(begin, end - begin));
    if (end == text.size()) return parts;
    begin = end + 1;
  }
}

}  // namespace

AttributePath::AttributePath(Evaluation& evaluation, const Value& attribute, bool ignore_case, Value fallback)
    : evaluation_(&evaluation), ignore_case_(ignore_case), fallback_(fallback) {
  if (attribute.is(Kind::kNone) || attribute.is(Kind::kMissing)) return;
  std::vector<Value> parts;
  if (attribute.is(Kind::kText)) {
    evaluation.steps_for(attribute.text().bytes.size() * 64);
    for (const std::string_view part : cut(attribute.text().bytes, '.')) parts.push_back(path_part(evaluation, part));
  } else {
    parts.push_back(attribute);
  }
  parts_ = evaluation.arena().copy(parts);
}

Value AttributePath::get(const Value& item) const {
  Value found = item;
  for (const Value& part : parts_) {
    evaluation_->step();
    found = get_item(*evaluation_, found, part);
    if (found.is(Kind::kUndefined) && !fallback_.is(Kind::kMissing) && !fallback_.is(Kind::kNone)) found = fallback_;
  }
  if (ignore_case_ && found.is(Kind::kText)) return Value::of(in_case(*evaluation_, found.text(), Case::kLower));
  return found;
}

std::vector<Value> sort_keys(Evaluation& evaluation, std::span<const Value> items, const Value& attribute,
                             bool ignore_case) {
  std::vector<AttributePath> paths;
  if (attribute.is(Kind::kText)) {
    for (const std::string_view part : cut(attribute.text().bytes, ','))
      paths.emplace_back(evaluation, evaluation.text(part), ignore_case);
  } else {
    paths.emplace_back(evaluation, attribute, ignore_case);
  }
  std::vector<Value> keys;
  for (const Value& item : items) {
    std::vector<Value> key;
    key.reserve(paths.size());
    for (const AttributePath& path : paths) key.push_back(path.get(item));
    keys.push_back(evaluation.list(key));
  }
  return keys;
}

std::vector<Value> sort_by(Evaluation& evaluation, std::span<const Value> items, std::span<const Value> keys,
                           bool reverse) {
  std::vector<std::size_t> places(items.size());
  std::iota(places.begin(), places.end(), std::size_t{0});
  std::stable_sort(places.begin(), places.end(), [&](std::size_t a, std::size_t b) {
    return order(evaluation, keys[reverse ? b : a], keys[reverse ? a : b], Operator::kLess) < 0;
  });
  std::vector<Value> sorted;
  sorted.reserve(places.size());
  for (const std::size_t place : places) sorted.push_back(items[place]);
  return sorted;
}

}  // namespace octavo::jinja
