#include "template/template_input.h"

#include <cstdint>

namespace octavo::jinja {

namespace {

/// Bytes of the character that begins here, or 0 where none does (Unicode 15, table 3-7).
std::size_t valid_character(std::string_view bytes) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(bytes[i]); };
  const unsigned lead = byte(0);
  if (lead < 0x80) return 1;
  const std::size_t length = lead < 0xC2 || lead > 0xF4 ? 0 : character_bytes(bytes[0]);
  if (length == 0 || bytes.size() < length) return 0;
  const unsigned low = lead == 0xE0 ? 0xA0 : lead == 0xF0 ? 0x90 : 0x80;
  const unsigned high = lead == 0xED ? 0x9F : lead == 0xF4 ? 0x8F : 0xBF;
  if (byte(1) < low || byte(1) > high) return 0;
  for (std::size_t i = 2; i < length; ++i)
    if ((byte(i) & 0xC0U) != 0x80U) return 0;
  return length;
}

}  // namespace

// The caller's data is as large as the caller made it; its own bounds are those of whoever took it in.
TemplateInput::TemplateInput() : arena_({.bytes = SIZE_MAX / 4, .steps = UINT64_MAX / 4}) {}

Value TemplateInput::text(std::string_view bytes, Origin origin) {
  std::size_t valid = 0;
  while (valid < bytes.size()) {
    const std::size_t length = valid_character(bytes.substr(valid));
    if (length == 0) break;
    valid += length;
  }
  if (valid == bytes.size()) return Value::of(make_text(arena_, bytes, origin));
  TextBuilder repaired(arena_);
  for (std::size_t at = 0; at < bytes.size();) {
    const std::size_t length = valid_character(bytes.substr(at));
    repaired.append(length == 0 ? "\uFFFD" : bytes.substr(at, length), origin);
    at += length == 0 ? 1 : length;
  }
  return Value::of(repaired.finish());
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
