// `tojson` of transformers: Python's json.dumps, without HTML's escapes. json/json_string.h has escapes and numbers;
// the walk over the arena's values is here, because it counts steps and keeps origins.
#pragma once

#include "template/values/evaluation.h"

namespace octavo::jinja {

struct JsonStyle {
  bool ensure_ascii = false;
  bool sort_keys = false;
  const Text* indent = nullptr;  // null: the text has one line
  const Text* item_separator = nullptr;
  const Text* key_separator = nullptr;
};

/// Writes a value. Quotes, brackets and separators are the template's; text within quotes keeps its origin.
void append_json(Evaluation& evaluation, TextBuilder& out, const Value& value, const JsonStyle& style);
/// The filter.
Value filter_tojson(Evaluation& evaluation, const Call& call);

}  // namespace octavo::jinja
