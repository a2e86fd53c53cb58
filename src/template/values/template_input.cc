#include "template/values/template_input.h"

#include <cstdint>

#include "base/text.h"
#include "base/utf8.h"

namespace octavo::jinja {

// The caller's data is as large as the caller made it, and bounded by whoever accepted it.
TemplateInput::TemplateInput() : arena_({.bytes = SIZE_MAX / 4, .steps = UINT64_MAX / 4}) {}

Value TemplateInput::text(std::string_view bytes, Origin origin) {
  if (is_valid_utf8(bytes)) return Value::of(make_text(arena_, bytes, origin));
  return Value::of(make_text(arena_, to_valid_utf8(bytes), origin));
}

Value TemplateInput::text(std::span<const TextRun> runs) {
  if (runs.size() == 1) return text(runs.front().text, runs.front().origin);
  TextBuilder builder(arena_);
  for (const TextRun& run : runs) {
    if (is_valid_utf8(run.text)) {
      builder.append(run.text, run.origin);
    } else {
      builder.append(to_valid_utf8(run.text), run.origin);
    }
  }
  return Value::of(builder.finish());
}

Value TemplateInput::dict(std::span<const std::pair<Value, Value>> entries) {
  DictBuilder builder(arena_);
  for (const auto& [key, value] : entries) builder.put(key, value);
  return Value::of(builder.finish());
}

void TemplateInput::set(std::string_view name, Value value) {
  names_.emplace_back(text(name, Origin::kTemplate), value);
}

}  // namespace octavo::jinja
