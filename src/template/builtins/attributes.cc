#include "template/builtins/attributes.h"

#include <algorithm>

#include "base/to_size.h"
#include "template/builtins/globals.h"
#include "template/builtins/methods.h"
#include "template/values/iteration.h"
#include "template/values/loop.h"
#include "template/values/macro.h"
#include "template/values/operators.h"
#include "template/values/python_text.h"

namespace octavo::jinja {

namespace {

Value undefined_attribute(Evaluation& evaluation, const Value& value, const Text* name) {
  return Value::of(evaluation.arena().make<Undefined>(name, type_name(value)));
}

/// An attribute that the value's type has, or missing.
Value own_attribute(Evaluation& evaluation, const Value& value, const Text& name) {
  if (value.is(Kind::kNamespace)) {
    const NamespaceEntry* entry = find_name(evaluation, value.as<Namespace>(), name.bytes);
    return entry == nullptr ? Value() : entry->value;
  }
  if (value.is(Kind::kLoop)) return attribute_of_loop(evaluation, value.as_mutable<LoopState>(), name.bytes);
  if (value.is(Kind::kCycler)) return attribute_of_cycler(evaluation, value, name.bytes);
  if (value.is(Kind::kMacro)) return attribute_of_macro(evaluation, value.as<Macro>(), name.bytes);
  if (value.is(Kind::kTuple) && value.as<List>().is_group) {
    if (name.bytes == "grouper") return value.items()[0];
    if (name.bytes == "list") return value.items()[1];
  }
  if (is_refused(value, name.bytes)) {
    const std::string message =
        fmt::format("access to attribute '{}' of '{}' object is unsafe", name.bytes, type_name(value));
    return evaluation.undefined_hint(evaluation.arena().copy(std::string_view(message)));
  }
  if (const NamedMethod* method = find_method(value, name.bytes))
    return Value::object(Kind::kMethod, evaluation.arena().make<BoundMethod>(value, method));
  return {};
}

/// An item that the value has under a key, or missing.
Value own_item(Evaluation& evaluation, const Value& value, const Value& key) {
  if (value.is(Kind::kDict)) {
    if (!is_hashable(evaluation.arena(), key)) return {};
    const Entry* entry = find_entry(evaluation.arena(), value.dict(), key);
    return entry == nullptr ? Value() : entry->value;
  }
  if (!key.is_integer()) return {};
  std::int64_t index = key.as_int();
  const auto in_range = [&index](std::int64_t size) {
    if (index < 0) index += size;
    return index >= 0 && index < size;
  };
  if (value.is_sequence() && in_range(static_cast<std::int64_t>(value.items().size())))
    return value.items()[to_size(index)];
  if (value.is(Kind::kRange) && in_range(value.as<Range>().size)) return item_of_range(value.as<Range>(), index);
  if (value.is(Kind::kText)) {
    const Text& text = value.text();
    if (!in_range(length_of(evaluation, value).value_or(0))) return {};
    return Value::of(character_at(evaluation.arena(), text, byte_of_character(text, to_size(index))));
  }
  return {};
}

struct SliceBounds {
  std::int64_t begin;
  std::int64_t step;
  std::int64_t count;
};

/// The bounds of a slice of `size` items, by Python's rules.
SliceBounds bounds_of(Evaluation& evaluation, std::span<const Value, 3> bounds, std::int64_t size) {
  const std::int64_t step = bounds[2].is(Kind::kNone) ? 1 : bounds[2].as_int();
  if (step == 0) evaluation.fail("slice step cannot be zero");
  const auto clamp = [&](const Value& bound, std::int64_t fallback) {
    if (bound.is(Kind::kNone)) return fallback;
    std::int64_t index = bound.as_int();
    if (index < 0) index += size;
    return step > 0 ? std::clamp<std::int64_t>(index, 0, size) : std::clamp<std::int64_t>(index, -1, size - 1);
  };
  const std::int64_t begin = clamp(bounds[0], step > 0 ? 0 : size - 1);
  const std::int64_t end = clamp(bounds[1], step > 0 ? size : -1);
  const std::int64_t distance = step > 0 ? end - begin : begin - end;
  const std::uint64_t stride = step > 0 ? static_cast<std::uint64_t>(step) : ~static_cast<std::uint64_t>(step) + 1;
  const std::int64_t count =
      distance <= 0 ? 0 : static_cast<std::int64_t>((static_cast<std::uint64_t>(distance) - 1) / stride) + 1;
  return {begin, step, count};
}

const Text* slice_text(Evaluation& evaluation, const Text& text, std::span<const Value, 3> values) {
  const auto size = static_cast<std::int64_t>(count_characters(text));
  evaluation.steps_for(text.bytes.size());
  const SliceBounds bounds = bounds_of(evaluation, values, size);
  if (bounds.count == 0) return part_of(evaluation.arena(), text, 0, 0);
  if (bounds.step == 1) {
    const std::size_t begin = byte_of_character(text, to_size(bounds.begin));
    const Text* rest = part_of(evaluation.arena(), text, begin, text.bytes.size());
    return part_of(evaluation.arena(), *rest, 0, byte_of_character(*rest, to_size(bounds.count)));
  }
  std::vector<std::size_t> begins;
  evaluation.arena().charge_bytes(to_size(size) * sizeof(std::size_t));
  for (std::size_t at = 0; at < text.bytes.size(); at += character_bytes(text.bytes[at])) begins.push_back(at);
  TextBuilder out(evaluation.arena());
  for (std::int64_t i = 0; i < bounds.count; ++i) {
    const std::size_t at = begins[to_size(bounds.begin + i * bounds.step)];
    out.append_part(text, at, at + character_bytes(text.bytes[at]));
  }
  return with_markup(evaluation.arena(), *out.finish(), text.is_markup);
}

Value slice_items(Evaluation& evaluation, const Value& value, std::span<const Value, 3> values) {
  const SliceBounds bounds = bounds_of(evaluation, values, static_cast<std::int64_t>(value.items().size()));
  const auto items = evaluation.arena().array<Value>(to_size(bounds.count));
  for (std::int64_t i = 0; i < bounds.count; ++i)
    items[to_size(i)] = value.items()[to_size(bounds.begin + i * bounds.step)];
  const List* list = evaluation.arena().make<List>(items);
  return value.is(Kind::kList) ? Value::list(list) : Value::tuple(list);
}

Value slice_range(Evaluation& evaluation, const Range& range, std::span<const Value, 3> values) {
  const SliceBounds bounds = bounds_of(evaluation, values, range.size);
  const std::int64_t start = range.start + bounds.begin * range.step, step = range.step * bounds.step;
  const std::int64_t end = bounds.step > 0 ? range.size : -1;
  const std::int64_t stop =
      values[1].is(Kind::kNone) ? end : values[1].as_int() + (values[1].as_int() < 0 ? range.size : 0);
  const std::int64_t last = bounds.step > 0 ? std::clamp<std::int64_t>(stop, 0, range.size)
                                            : std::clamp<std::int64_t>(stop, -1, range.size - 1);
  return Value::of(evaluation.arena().make<Range>(start, range.start + last * range.step, step, bounds.count));
}

}  // namespace

NamespaceEntry* find_name(Evaluation& evaluation, const Namespace& names, std::string_view name) {
  for (NamespaceEntry* entry = names.first; entry != nullptr; entry = entry->next) {
    evaluation.step();
    if (entry->name->bytes == name) return entry;
  }
  return nullptr;
}

void set_name(Evaluation& evaluation, Namespace& names, const Text& name, const Value& value) {
  if (name.bytes.starts_with('_'))
    evaluation.fail("a namespace's attribute '{}' begins with an underscore, which is refused", name.bytes);
  if (NamespaceEntry* entry = find_name(evaluation, names, name.bytes)) {
    entry->value = value;
    return;
  }
  auto* entry = evaluation.arena().make<NamespaceEntry>(&name, value, nullptr);
  (names.last == nullptr ? names.first : names.last->next) = entry;
  names.last = entry;
}

Value get_attribute(Evaluation& evaluation, const Value& value, const Text& name) {
  if (value.is(Kind::kUndefined)) fail_undefined(evaluation, value);
  const Value found = own_attribute(evaluation, value, name);
  if (found.is(Kind::kMissing) && value.is(Kind::kDict)) {
    if (const Entry* entry = find_text(evaluation.arena(), value.dict(), name.bytes)) return entry->value;
  }
  return found.is(Kind::kMissing) ? undefined_attribute(evaluation, value, &name) : found;
}

Value get_item(Evaluation& evaluation, const Value& value, const Value& key) {
  if (value.is(Kind::kUndefined)) fail_undefined(evaluation, value);
  Value found = own_item(evaluation, value, key);
  if (found.is(Kind::kMissing) && key.is(Kind::kText)) found = own_attribute(evaluation, value, key.text());
  if (!found.is(Kind::kMissing)) return found;
  return undefined_attribute(evaluation, value, to_text(evaluation, key));
}

Value get_slice(Evaluation& evaluation, const Value& value, std::span<const Value, 3> bounds) {
  if (value.is(Kind::kUndefined)) fail_undefined(evaluation, value);
  const bool has_slices = value.is(Kind::kText) || value.is_sequence() || value.is(Kind::kRange);
  const bool are_integers = std::all_of(bounds.begin(), bounds.end(),
                                        [](const Value& bound) { return bound.is(Kind::kNone) || bound.is_integer(); });
  if (!has_slices || !are_integers)
    return undefined_attribute(evaluation, value, make_text(evaluation.arena(), "slice"));
  if (value.is(Kind::kText)) return Value::of(slice_text(evaluation, value.text(), bounds));
  if (value.is(Kind::kRange)) return slice_range(evaluation, value.as<Range>(), bounds);
  return slice_items(evaluation, value, bounds);
}

}  // namespace octavo::jinja
