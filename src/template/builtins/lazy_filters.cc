// Filters that are iterators: they evaluate an item when it is asked for, and give each one once.
#include <algorithm>
#include <utility>

#include "base/to_size.h"
#include "template/builtins/arguments.h"
#include "template/builtins/filter_arguments.h"
#include "template/builtins/filters.h"
#include "template/values/iteration.h"
#include "template/values/operators.h"
#include "template/values/python_text.h"

namespace octavo::jinja {

namespace {

/// The value to go over. Its iterator is found when the first item is asked for, as in Python's generators.
struct Source {
  Value value;
  Iterator* iterator = nullptr;

  std::optional<Value> next(Evaluation& evaluation) {
    if (iterator == nullptr) iterator = iterate(evaluation, value);
    return next_of(evaluation, *iterator);
  }
};

struct MapIterator : Iterator {
  Source source;
  const AttributePath* path = nullptr;  // null: a filter is applied instead
  Value filter = {};
  std::span<Value> arguments = {};  // the first is the item's place
  std::span<const NamedValue> named = {};
};

const NamedFilter& filter_named(Evaluation& evaluation, const Value& name, bool is_test) {
  const NamedFilter* found = nullptr;
  if (name.is(Kind::kText)) found = is_test ? find_test(name.text().bytes) : find_filter(name.text().bytes);
  if (found == nullptr)
    evaluation.fail("No {} named '{}'.", is_test ? "test" : "filter", to_text(evaluation, name)->bytes);
  return *found;
}

bool next_mapped(Evaluation& evaluation, Iterator& base, Value& item) {
  auto& self = static_cast<MapIterator&>(base);
  if (self.source.iterator == nullptr && !is_true(evaluation, self.source.value)) return false;
  const auto next = self.source.next(evaluation);
  if (!next) return false;
  if (self.path != nullptr) {
    item = self.path->get(*next);
    return true;
  }
  if (self.arguments.empty()) evaluation.fail("map requires a filter argument");
  self.arguments[0] = *next;
  const NamedFilter& filter = filter_named(evaluation, self.filter, false);
  item = filter.call(evaluation, {.arguments = self.arguments, .named = self.named});
  return true;
}

Value filter_map(Evaluation& evaluation, const Call& call) {
  Arena& arena = evaluation.arena();
  auto* self = arena.make<MapIterator>(Iterator{next_mapped}, Source{call.arguments[0]});
  const bool by_attribute = std::any_of(call.named.begin(), call.named.end(),
                                        [](const NamedValue& named) { return named.name->bytes == "attribute"; });
  if (call.arguments.size() == 1 && by_attribute) {
    const Arguments arguments(evaluation, "map", {.arguments = {}, .named = call.named}, {"attribute", "default"}, 1);
    self->path = arena.make<AttributePath>(evaluation, arguments[0], false, arguments.value_or(1, Value::none()));
  } else if (call.arguments.size() > 1) {
    self->filter = call.arguments[1];
    self->arguments = arena.array<Value>(call.arguments.size() - 1);
    std::copy(call.arguments.begin() + 2, call.arguments.end(), self->arguments.begin() + 1);
    self->named = arena.copy(call.named);
  }
  return Value::of(static_cast<Iterator*>(self));
}

struct SelectIterator : Iterator {
  Source source;
  const AttributePath* path;  // the attribute to test; null: the item itself
  bool wanted;
  Value test = {};  // missing: the value's truth is tested
  std::span<Value> arguments = {};
  std::span<const NamedValue> named = {};
};

bool next_selected(Evaluation& evaluation, Iterator& base, Value& item) {
  auto& self = static_cast<SelectIterator&>(base);
  if (self.source.iterator == nullptr && !is_true(evaluation, self.source.value)) return false;
  while (const auto next = self.source.next(evaluation)) {
    const Value tested = self.path == nullptr ? *next : self.path->get(*next);
    bool holds = false;
    if (self.test.is(Kind::kMissing)) {
      holds = is_true(evaluation, tested);
    } else {
      self.arguments[0] = tested;
      const NamedFilter& test = filter_named(evaluation, self.test, true);
      holds = is_true(evaluation, test.call(evaluation, {.arguments = self.arguments, .named = self.named}));
    }
    if (holds != self.wanted) continue;
    item = *next;
    return true;
  }
  return false;
}

template <bool kWanted, bool kAttribute>
Value filter_select(Evaluation& evaluation, const Call& call) {
  Arena& arena = evaluation.arena();
  auto* self = arena.make<SelectIterator>(Iterator{next_selected}, Source{call.arguments[0]}, nullptr, kWanted);
  auto rest = call.arguments.subspan(1);
  if (kAttribute) {
    if (rest.empty()) evaluation.fail("Missing parameter for attribute name");
    self->path = arena.make<AttributePath>(evaluation, rest[0]);
    rest = rest.subspan(1);
  }
  if (!rest.empty()) {
    self->test = rest[0];
    self->arguments = arena.array<Value>(rest.size());
    std::copy(rest.begin() + 1, rest.end(), self->arguments.begin() + 1);
    self->named = arena.copy(call.named);
  }
  return Value::of(static_cast<Iterator*>(self));
}

struct Seen {
  Value key;
  std::uint64_t hash;
  Seen* next;
};

struct UniqueIterator : Iterator {
  Source source;
  const AttributePath* path;
  Seen* seen;
};

bool next_unique(Evaluation& evaluation, Iterator& base, Value& item) {
  auto& self = static_cast<UniqueIterator&>(base);
  while (const auto next = self.source.next(evaluation)) {
    const Value key = self.path->get(*next);
    if (!is_hashable(evaluation.arena(), key)) evaluation.fail("unhashable type: '{}'", type_name(key));
    const std::uint64_t hash = hash_of(evaluation.arena(), key);
    const Seen* seen = self.seen;
    const auto is_same = [&] { return seen->hash == hash && same_key(evaluation.arena(), seen->key, key); };
    for (; seen != nullptr && !is_same(); seen = seen->next) evaluation.step();
    if (seen != nullptr) continue;
    self.seen = evaluation.arena().make<Seen>(key, hash, self.seen);
    item = *next;
    return true;
  }
  return false;
}

Value filter_unique(Evaluation& evaluation, const Call& call) {
  const Arguments arguments(evaluation, "unique", call, {"value", "case_sensitive", "attribute"}, 1);
  Arena& arena = evaluation.arena();
  const auto* path =
      arena.make<AttributePath>(evaluation, arguments.value_or(2, Value::none()), !arguments.truth(1, false));
  return Value::of(
      static_cast<Iterator*>(arena.make<UniqueIterator>(Iterator{next_unique}, Source{arguments[0]}, path, nullptr)));
}

struct BatchIterator : Iterator {
  Source source;
  std::int64_t size;
  Value fill;
  Value ahead = {};  // the first item of the next batch
};

bool next_batch(Evaluation& evaluation, Iterator& base, Value& item) {
  auto& self = static_cast<BatchIterator&>(base);
  std::vector<Value> batch;
  if (!self.ahead.is(Kind::kMissing)) batch.push_back(std::exchange(self.ahead, {}));
  while (const auto next = self.source.next(evaluation)) {
    if (static_cast<std::int64_t>(batch.size()) == self.size) {
      self.ahead = *next;
      break;
    }
    batch.push_back(*next);
  }
  if (batch.empty() && self.ahead.is(Kind::kMissing)) return false;
  if (self.ahead.is(Kind::kMissing) && !self.fill.is(Kind::kNone)) {
    while (static_cast<std::int64_t>(batch.size()) < self.size) {
      evaluation.step();
      evaluation.arena().charge_bytes(sizeof(Value));
      batch.push_back(self.fill);
    }
  }
  item = evaluation.list(batch);
  return true;
}

Value filter_batch(Evaluation& evaluation, const Call& call) {
  const Arguments arguments(evaluation, "batch", call, {"value", "linecount", "fill_with"}, 2);
  return Value::of(static_cast<Iterator*>(evaluation.arena().make<BatchIterator>(
      Iterator{next_batch}, Source{arguments[0]}, arguments.integer(1, 1), arguments.value_or(2, Value::none()))));
}

struct SliceIterator : Iterator {
  Value value;
  std::int64_t slices;
  Value fill;
  std::span<const Value> items = {};
  std::int64_t at = 0;
};

bool next_slice(Evaluation& evaluation, Iterator& base, Value& item) {
  auto& self = static_cast<SliceIterator&>(base);
  if (self.at == 0) {
    self.items = evaluation.arena().copy(collect(evaluation, self.value));
    if (self.slices == 0) evaluation.fail("integer division or modulo by zero");
  }
  if (self.at >= self.slices) return false;
  const auto size = static_cast<std::int64_t>(self.items.size());
  const std::int64_t every = size / self.slices, longer = size % self.slices;
  const std::int64_t begin = self.at * every + std::min(self.at, longer);
  const std::int64_t count = every + (self.at < longer ? 1 : 0);
  const auto part = self.items.subspan(to_size(begin), to_size(count));
  std::vector<Value> slice(part.begin(), part.end());
  if (!self.fill.is(Kind::kNone) && self.at >= longer) slice.push_back(self.fill);
  ++self.at;
  item = evaluation.list(slice);
  return true;
}

Value filter_slice(Evaluation& evaluation, const Call& call) {
  const Arguments arguments(evaluation, "slice", call, {"value", "slices", "fill_with"}, 2);
  return Value::of(static_cast<Iterator*>(evaluation.arena().make<SliceIterator>(
      Iterator{next_slice}, arguments[0], arguments.integer(1, 1), arguments.value_or(2, Value::none()))));
}

struct ItemsOfDict : Iterator {
  Value value;
  std::size_t at;
};

bool next_pair(Evaluation& evaluation, Iterator& base, Value& item) {
  auto& self = static_cast<ItemsOfDict&>(base);
  if (self.value.is(Kind::kUndefined)) return false;
  if (!self.value.is(Kind::kDict)) evaluation.fail("Can only get item pairs from a mapping.");
  if (self.at == self.value.dict().entries.size()) return false;
  item = item_of_view(evaluation, {&self.value.dict(), DictView::What::kItems}, self.at++);
  return true;
}

Value filter_items(Evaluation& evaluation, const Call& call) {
  const Arguments arguments(evaluation, "items", call, {"value"}, 1);
  return Value::of(
      static_cast<Iterator*>(evaluation.arena().make<ItemsOfDict>(Iterator{next_pair}, arguments[0], std::size_t{0})));
}

constexpr NamedFilter kFilters[] = {
    {"map", filter_map},
    {"select", filter_select<true, false>},
    {"reject", filter_select<false, false>},
    {"selectattr", filter_select<true, true>},
    {"rejectattr", filter_select<false, true>},
    {"unique", filter_unique},
    {"batch", filter_batch},
    {"slice", filter_slice},
    {"items", filter_items},
};

}  // namespace

std::span<const NamedFilter> lazy_filters() { return kFilters; }

}  // namespace octavo::jinja
