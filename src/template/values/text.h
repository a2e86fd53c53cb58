// A string of a template: UTF-8 with the origin of each byte.
//
// Most texts have one origin; a text that was put together has spans of origins. A part of a text shares its bytes.
// Texts are immutable and live in an arena. They are always well-formed: inputs are checked, and no operation cuts a
// character.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "template/values/arena.h"

namespace octavo::jinja {

/// The origin of text: the template itself, or a field of the conversation.
enum class Origin : std::uint8_t { kTemplate, kSystem, kUser, kTool, kModel };

/// The bytes up to `end`, from the end of the span before.
struct OriginSpan {
  std::uint32_t end;
  Origin origin;
};

struct Text {
  std::string_view bytes;
  std::span<const OriginSpan> spans;  // the spans of several origins, up to the end of the bytes; empty for one origin
  Origin origin = Origin::kTemplate;  // the origin of the first byte
  bool is_ascii = true;
  bool is_markup = false;  // jinja2's Markup: text that `escape` leaves as it is

  Origin origin_at(std::size_t byte) const;
};

std::uint32_t code_point_at(std::string_view bytes, std::size_t at);
std::size_t character_bytes(char lead);
bool is_ascii(std::string_view bytes);
/// The number of characters (code points), as Python's len() counts them.
std::size_t count_characters(const Text& text);
/// The byte at which a character begins; the end of the text for the place behind the last character.
std::size_t byte_of_character(const Text& text, std::size_t character);

/// A text of one origin.
const Text* make_text(Arena& arena, std::string_view bytes, Origin origin = Origin::kTemplate);
/// A text of one origin whose bytes outlive the arena.
const Text* borrow_text(Arena& arena, std::string_view bytes, Origin origin = Origin::kTemplate);
/// The bytes [begin, end) of a text, at borders of characters.
const Text* part_of(Arena& arena, const Text& text, std::size_t begin, std::size_t end);
/// A copy of a text that is marked as markup, or is not.
const Text* with_markup(Arena& arena, const Text& text, bool is_markup);

/// Puts a text together, which counts towards the arena's budget as it grows.
class TextBuilder {
 public:
  explicit TextBuilder(Arena& arena) : arena_(arena) {}

  void append(std::string_view bytes, Origin origin = Origin::kTemplate);
  void append(const Text& text) { append_part(text, 0, text.bytes.size()); }
  void append_part(const Text& text, std::size_t begin, std::size_t end);
  void append_character(std::uint32_t code_point, Origin origin);
  void append_repeated(std::string_view bytes, std::size_t times, Origin origin = Origin::kTemplate);
  std::size_t size() const { return bytes_.size(); }
  std::string_view bytes() const { return bytes_; }
  std::span<const OriginSpan> spans() const { return spans_; }
  const Text* finish();

 private:
  void add_span(std::size_t end, Origin origin);

  Arena& arena_;
  std::string bytes_;
  std::vector<OriginSpan> spans_;
};

}  // namespace octavo::jinja
