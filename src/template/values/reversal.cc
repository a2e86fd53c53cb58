#include "template/values/reversal.h"

#include "base/to_size.h"

namespace octavo::jinja {

namespace {

/// Any value whose items have indexes.
struct ReversedIterator : Iterator {
  Value value;
  std::int64_t left;
};

bool next_reversed(Evaluation& evaluation, Iterator& base, Value& item) {
  auto& self = static_cast<ReversedIterator&>(base);
  if (self.left == 0) return false;
  --self.left;
  switch (self.value.kind()) {
    case Kind::kList:
    case Kind::kTuple: item = self.value.items()[to_size(self.left)]; break;
    case Kind::kRange: item = item_of_range(self.value.as<Range>(), self.left); break;
    case Kind::kDict: item = self.value.dict().entries[to_size(self.left)].key; break;
    default: item = item_of_view(evaluation, self.value.as<DictView>(), to_size(self.left)); break;
  }
  return true;
}

}  // namespace

const Text* reverse_text(Evaluation& evaluation, const Text& text) {
  evaluation.steps_for(16 * text.bytes.size());
  TextBuilder out(evaluation.arena());
  for (std::size_t end = text.bytes.size(); end > 0;) {
    std::size_t begin = end - 1;
    while ((static_cast<unsigned char>(text.bytes[begin]) & 0xC0U) == 0x80U) --begin;
    out.append_part(text, begin, end);
    end = begin;
  }
  return with_markup(evaluation.arena(), *out.finish(), text.is_markup);
}

Iterator* iterate_reversed(Evaluation& evaluation, const Value& value) {
  switch (value.kind()) {
    case Kind::kUndefined: return iterate_items(evaluation, {});
    case Kind::kText: {
      const Value reversed = Value::of(reverse_text(evaluation, value.text()));
      return iterate(evaluation, reversed);
    }
    case Kind::kList:
    case Kind::kTuple:
    case Kind::kRange:
    case Kind::kDict:
    case Kind::kDictView:
      return evaluation.arena().make<ReversedIterator>(Iterator{next_reversed}, value,
                                                       length_of(evaluation, value).value_or(0));
    default: return nullptr;
  }
}

}  // namespace octavo::jinja
