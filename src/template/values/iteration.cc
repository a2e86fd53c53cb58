#include "template/values/iteration.h"

#include "template/values/loop.h"
#include "template/values/python_text.h"

namespace octavo::jinja {

namespace {

struct ItemsIterator : Iterator {
  std::span<const Value> items;
  std::size_t at = 0;
};

struct TextIterator : Iterator {
  const Text* text;
  std::size_t at = 0;
};

struct RangeIterator : Iterator {
  const Range* range;
  std::int64_t at = 0;
};

struct ViewIterator : Iterator {
  DictView view;
  std::size_t at = 0;
};

bool next_item(Evaluation&, Iterator& base, Value& item) {
  auto& self = static_cast<ItemsIterator&>(base);
  if (self.at == self.items.size()) return false;
  item = self.items[self.at++];
  return true;
}

bool next_character(Evaluation& evaluation, Iterator& base, Value& item) {
  auto& self = static_cast<TextIterator&>(base);
  if (self.at == self.text->bytes.size()) return false;
  const Text* character = character_at(evaluation.arena(), *self.text, self.at);
  self.at += character->bytes.size();
  item = Value::of(character);
  return true;
}

bool next_number(Evaluation&, Iterator& base, Value& item) {
  auto& self = static_cast<RangeIterator&>(base);
  if (self.at == self.range->size) return false;
  item = item_of_range(*self.range, self.at++);
  return true;
}

bool next_of_view(Evaluation& evaluation, Iterator& base, Value& item) {
  auto& self = static_cast<ViewIterator&>(base);
  if (self.at == self.view.dict->entries.size()) return false;
  item = item_of_view(evaluation, self.view, self.at++);
  return true;
}

}  // namespace

Value item_of_view(Evaluation& evaluation, const DictView& view, std::size_t index) {
  const Entry& entry = view.dict->entries[index];
  switch (view.what) {
    case DictView::What::kKeys: return entry.key;
    case DictView::What::kValues: return entry.value;
    case DictView::What::kItems: break;
  }
  const Value pair[] = {entry.key, entry.value};
  return evaluation.tuple(pair);
}

Iterator* iterate_items(Evaluation& evaluation, std::span<const Value> items) {
  return evaluation.arena().make<ItemsIterator>(Iterator{next_item}, items);
}

bool is_iterable(const Value& value) {
  switch (value.kind()) {
    case Kind::kUndefined:
    case Kind::kText:
    case Kind::kList:
    case Kind::kTuple:
    case Kind::kDict:
    case Kind::kRange:
    case Kind::kDictView:
    case Kind::kLoop:
    case Kind::kIterator: return true;
    default: return false;
  }
}

Iterator* iterate(Evaluation& evaluation, const Value& value) {
  Arena& arena = evaluation.arena();
  switch (value.kind()) {
    case Kind::kUndefined: return iterate_items(evaluation, {});
    case Kind::kText: return arena.make<TextIterator>(Iterator{next_character}, &value.text());
    case Kind::kList:
    case Kind::kTuple: return iterate_items(evaluation, value.items());
    case Kind::kDict:
      return arena.make<ViewIterator>(Iterator{next_of_view}, DictView{&value.dict(), DictView::What::kKeys});
    case Kind::kRange: return arena.make<RangeIterator>(Iterator{next_number}, &value.as<Range>());
    case Kind::kDictView: return arena.make<ViewIterator>(Iterator{next_of_view}, value.as<DictView>());
    case Kind::kLoop: return iterate_loop(evaluation, value.as_mutable<LoopState>());
    case Kind::kIterator: return &value.as_mutable<Iterator>();
    default: evaluation.fail("'{}' object is not iterable", type_name(value));
  }
}

std::optional<Value> next_of(Evaluation& evaluation, Iterator& iterator) {
  evaluation.step();
  const Evaluation::Nesting nesting(evaluation);
  Value item;
  if (!iterator.next(evaluation, iterator, item)) return std::nullopt;
  return item;
}

std::vector<Value> collect(Evaluation& evaluation, const Value& iterable) {
  if (iterable.is_sequence()) return {iterable.items().begin(), iterable.items().end()};
  Iterator* iterator = iterate(evaluation, iterable);
  std::vector<Value> items;
  while (const auto item = next_of(evaluation, *iterator)) {
    evaluation.arena().charge_bytes(sizeof(Value));
    items.push_back(*item);
  }
  return items;
}

std::optional<std::int64_t> length_of(Evaluation& evaluation, const Value& value) {
  switch (value.kind()) {
    case Kind::kUndefined: return 0;
    case Kind::kText:
      evaluation.steps_for(value.text().bytes.size());
      return static_cast<std::int64_t>(count_characters(value.text()));
    case Kind::kList:
    case Kind::kTuple: return static_cast<std::int64_t>(value.items().size());
    case Kind::kDict: return static_cast<std::int64_t>(value.dict().entries.size());
    case Kind::kRange: return value.as<Range>().size;
    case Kind::kDictView: return static_cast<std::int64_t>(value.as<DictView>().dict->entries.size());
    case Kind::kLoop: return length_of_loop(evaluation, value.as_mutable<LoopState>());
    default: return std::nullopt;
  }
}

}  // namespace octavo::jinja
