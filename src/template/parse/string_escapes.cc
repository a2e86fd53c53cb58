#include "template/parse/string_escapes.h"

#include <algorithm>
#include <charconv>

#include "template/values/text.h"

namespace octavo::jinja {

namespace {

class EscapeReader {
 public:
  EscapeReader(Arena& arena, std::string_view literal, Position where)
      : literal_(literal), where_(where), out_(arena) {}

  std::string_view run(Arena& arena) {
    while (at_ < literal_.size()) {
      const std::size_t backslash = std::min(literal_.size(), literal_.find('\\', at_));
      out_.append(literal_.substr(at_, backslash - at_));
      at_ = backslash + 1;
      if (backslash < literal_.size()) read_one();
    }
    return arena.copy(out_.bytes());
  }

 private:
  void read_one() {
    const char letter = literal_[at_++];
    switch (letter) {
      case '\n': return;
      case '\\':
      case '\'':
      case '"': return out_.append({&letter, 1});
      case 'a': return out_.append("\a");
      case 'b': return out_.append("\b");
      case 'f': return out_.append("\f");
      case 'n': return out_.append("\n");
      case 'r': return out_.append("\r");
      case 't': return out_.append("\t");
      case 'v': return out_.append("\v");
      case 'x': return read_code_point(2);
      case 'u': return read_code_point(4);
      case 'U': return read_code_point(8);
      case 'N': fail_at(where_, "the string has \\N, a character by its name, which is not supported");
      default: break;
    }
    if (letter >= '0' && letter <= '7') return read_octal();
    out_.append("\\");
    if (static_cast<unsigned char>(letter) < 0x80) return out_.append({&letter, 1});
    // jinja2 turns a character beyond ASCII into an escape before it reads escapes, so that a backslash before it is
    // followed by another backslash.
    const std::uint32_t code_point = code_point_at(literal_, at_ - 1);
    at_ += character_bytes(letter) - 1;
    out_.append(code_point < 0x100     ? fmt::format("x{:02x}", code_point)
                : code_point < 0x10000 ? fmt::format("u{:04x}", code_point)
                                       : fmt::format("U{:08x}", code_point));
  }

  void read_code_point(std::size_t num_digits) {
    const std::string_view digits = literal_.substr(at_, num_digits);
    std::uint32_t code_point = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), code_point, 16);
    if (digits.size() < num_digits || error != std::errc{} || end != digits.data() + digits.size())
      fail_at(where_, "the string has an escape '\\{}{}', expected {} hexadecimal digits", literal_[at_ - 1], digits,
              num_digits);
    put(code_point);
    at_ += num_digits;
  }

  void read_octal() {
    std::uint32_t code_point = 0;
    --at_;
    for (int i = 0; i < 3 && at_ < literal_.size() && literal_[at_] >= '0' && literal_[at_] <= '7'; ++i)
      code_point = code_point * 8 + static_cast<std::uint32_t>(literal_[at_++] - '0');
    put(code_point);
  }

  void put(std::uint32_t code_point) {
    if (code_point > 0x10FFFF || (code_point >= 0xD800 && code_point < 0xE000))
      fail_at(where_, "the string has an escape of U+{:04X}, which is no character", code_point);
    out_.append_character(code_point, Origin::kTemplate);
  }

  std::string_view literal_;
  Position where_;
  TextBuilder out_;
  std::size_t at_ = 0;
};

}  // namespace

std::string_view read_escapes(Arena& arena, std::string_view literal, Position where) {
  if (literal.find('\\') == std::string_view::npos) return literal;
  return EscapeReader(arena, literal, where).run(arena);
}

}  // namespace octavo::jinja
