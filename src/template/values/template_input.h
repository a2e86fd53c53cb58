// The values that a template is rendered with: messages, tools, flags. Strings keep their origins.
#pragma once

#include <span>
#include <string_view>
#include <utility>

#include "template/values/value.h"

namespace octavo::jinja {

/// Consecutive text of one origin.
struct TextRun {
  std::string_view text;
  Origin origin;
};

/// Builds values and owns their memory. One thread at a time; rendering only reads it.
class TemplateInput {
 public:
  TemplateInput();

  /// Text of any bytes; bytes that are no UTF-8 become U+FFFD.
  Value text(std::string_view bytes, Origin origin);
  /// One text with several origins.
  Value text(std::span<const TextRun> runs);
  Value list(std::span<const Value> items) { return make_list(arena_, items); }
  /// A dict; the last of two equal keys counts.
  Value dict(std::span<const std::pair<Value, Value>> entries);

  /// Names a value for the template; the last value of a name counts.
  void set(std::string_view name, Value value);

  const std::vector<std::pair<Value, Value>>& names() const { return names_; }
  std::size_t bytes_built() const { return arena_.bytes_built(); }

 private:
  Arena arena_;
  std::vector<std::pair<Value, Value>> names_;
};

}  // namespace octavo::jinja
