#include "template/values/text.h"

#include <algorithm>

#include "base/to_size.h"
#include "base/utf8.h"

namespace octavo::jinja {

namespace {

bool is_continuation(char byte) { return (static_cast<unsigned char>(byte) & 0xC0U) == 0x80U; }

/// The index of the span that has a byte.
std::size_t span_of(const Text& text, std::size_t byte) {
  const auto found = std::upper_bound(text.spans.begin(), text.spans.end(), byte,
                                      [](std::size_t at, const OriginSpan& span) { return at < span.end; });
  return to_size(found - text.spans.begin());
}

}  // namespace

Origin Text::origin_at(std::size_t byte) const {
  if (spans.empty()) return origin;
  return spans[std::min(span_of(*this, byte), spans.size() - 1)].origin;
}

std::size_t character_bytes(char lead) {
  const auto byte = static_cast<unsigned char>(lead);
  return byte < 0x80 ? 1 : byte < 0xE0 ? 2 : byte < 0xF0 ? 3 : 4;
}

std::uint32_t code_point_at(std::string_view bytes, std::size_t at) {
  const auto lead = static_cast<unsigned char>(bytes[at]);
  const std::size_t length = character_bytes(bytes[at]);
  if (length == 1) return lead;
  std::uint32_t code_point = lead & (0x7FU >> length);
  for (std::size_t i = 1; i < length; ++i)
    code_point = code_point << 6 | (static_cast<unsigned char>(bytes[at + i]) & 0x3FU);
  return code_point;
}

bool is_ascii(std::string_view bytes) {
  return std::none_of(bytes.begin(), bytes.end(), [](char byte) { return (byte & 0x80) != 0; });
}

std::size_t count_characters(const Text& text) {
  if (text.is_ascii) return text.bytes.size();
  return text.bytes.size() - to_size(std::count_if(text.bytes.begin(), text.bytes.end(), is_continuation));
}

std::size_t byte_of_character(const Text& text, std::size_t character) {
  if (text.is_ascii) return std::min(character, text.bytes.size());
  std::size_t byte = 0;
  for (; character > 0 && byte < text.bytes.size(); --character) byte += character_bytes(text.bytes[byte]);
  return byte;
}

const Text* borrow_text(Arena& arena, std::string_view bytes, Origin origin) {
  return arena.make<Text>(bytes, std::span<const OriginSpan>{}, origin, is_ascii(bytes), false);
}

const Text* make_text(Arena& arena, std::string_view bytes, Origin origin) {
  return borrow_text(arena, arena.copy(bytes), origin);
}

const Text* with_markup(Arena& arena, const Text& text, bool is_markup) {
  if (text.is_markup == is_markup) return &text;
  return arena.make<Text>(text.bytes, text.spans, text.origin, text.is_ascii, is_markup);
}

const Text* part_of(Arena& arena, const Text& text, std::size_t begin, std::size_t end) {
  if (begin == 0 && end == text.bytes.size()) return &text;
  const std::string_view bytes = text.bytes.substr(begin, end - begin);
  const bool ascii = text.is_ascii || is_ascii(bytes);
  if (text.spans.empty() || bytes.empty())
    return arena.make<Text>(bytes, std::span<const OriginSpan>{}, text.origin, ascii, text.is_markup);
  const std::size_t first = span_of(text, begin), last = span_of(text, end - 1);
  const Origin origin = text.spans[first].origin;
  if (first == last) return arena.make<Text>(bytes, std::span<const OriginSpan>{}, origin, ascii, text.is_markup);
  const auto spans = arena.array<OriginSpan>(last - first + 1);
  for (std::size_t i = 0; i < spans.size(); ++i) {
    const std::size_t span_end = std::min<std::size_t>(end, text.spans[first + i].end) - begin;
    spans[i] = {static_cast<std::uint32_t>(span_end), text.spans[first + i].origin};
  }
  return arena.make<Text>(bytes, std::span<const OriginSpan>(spans), origin, ascii, text.is_markup);
}

void TextBuilder::add_span(std::size_t end, Origin origin) {
  if (!spans_.empty() && spans_.back().origin == origin) {
    spans_.back().end = static_cast<std::uint32_t>(end);
    return;
  }
  arena_.charge_bytes(sizeof(OriginSpan));
  spans_.push_back({static_cast<std::uint32_t>(end), origin});
}

void TextBuilder::append(std::string_view bytes, Origin origin) {
  if (bytes.empty()) return;
  arena_.charge_bytes(bytes.size());
  bytes_ += bytes;
  add_span(bytes_.size(), origin);
}

void TextBuilder::append_part(const Text& text, std::size_t begin, std::size_t end) {
  if (begin == end) return;
  if (text.spans.empty()) return append(text.bytes.substr(begin, end - begin), text.origin);
  for (std::size_t span = span_of(text, begin); begin < end; ++span) {
    const std::size_t span_end = std::min<std::size_t>(end, text.spans[span].end);
    append(text.bytes.substr(begin, span_end - begin), text.spans[span].origin);
    begin = span_end;
  }
}

void TextBuilder::append_character(std::uint32_t code_point, Origin origin) {
  const std::size_t begin = bytes_.size();
  append_utf8(bytes_, code_point);
  arena_.charge_bytes(bytes_.size() - begin);
  add_span(bytes_.size(), origin);
}

void TextBuilder::append_repeated(std::string_view bytes, std::size_t times, Origin origin) {
  if (bytes.empty() || times == 0) return;
  arena_.charge_bytes(times > SIZE_MAX / 2 / bytes.size() ? SIZE_MAX / 2 : times * bytes.size());
  bytes_.reserve(bytes_.size() + times * bytes.size());
  for (std::size_t i = 0; i < times; ++i) bytes_ += bytes;
  add_span(bytes_.size(), origin);
}

const Text* TextBuilder::finish() {
  const std::string_view bytes = arena_.copy(bytes_);
  if (spans_.size() <= 1) {
    const Origin origin = spans_.empty() ? Origin::kTemplate : spans_.front().origin;
    return borrow_text(arena_, bytes, origin);
  }
  return arena_.make<Text>(bytes, arena_.copy(spans_), spans_.front().origin, is_ascii(bytes), false);
}

}  // namespace octavo::jinja
