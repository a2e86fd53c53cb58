// `tojson` as transformers has it: Python's json.dumps, without HTML's escapes.
#pragma once

#include <cstdint>
#include <string>

#include "template/evaluation.h"

namespace octavo::jinja {

struct JsonStyle {
  bool ensure_ascii = false;
  bool sort_keys = false;
  const Text* indent = nullptr;  // null: on one line
  const Text* item_separator = nullptr;
  const Text* key_separator = nullptr;
};

/// A number as json.dumps writes it.
std::string json_number(double value);
/// A character as json.dumps writes it within a text where it may not stand as it is.
std::string json_escape(std::uint32_t code_point);

/// Quotes, brackets and separators are the template's; what stands within quotes keeps its origin.
void append_json(Evaluation& evaluation, TextBuilder& out, const Value& value, const JsonStyle& style);
/// The filter.
Value filter_tojson(Evaluation& evaluation, const Call& call);

}  // namespace octavo::jinja
