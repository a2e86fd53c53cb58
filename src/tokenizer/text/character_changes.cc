#include "tokenizer/text/character_changes.h"

#include <algorithm>
#include <iterator>
#include <span>

#include "base/utf8.h"
#include "tokenizer/text/code_point_set.h"

namespace octavo {

namespace {

/// A run of capital letters: first, first + step and so on up to last, whose small letters lie a fixed number of code
/// points after them.
struct LowerCaseRun {
  std::uint32_t first, last, step;
  std::int32_t difference;
};

#include "tokenizer/text/bert_characters.inc"

// White space except the control characters, which kClean has left out.
constexpr CodePointSet::Range kSpaces[] = {{0x9, 0xB},       {0xD, 0xE},       {0x20, 0x21},     {0xA0, 0xA1},
                                           {0x1680, 0x1681}, {0x2000, 0x200B}, {0x2028, 0x202A}, {0x202F, 0x2030},
                                           {0x205F, 0x2060}, {0x3000, 0x3001}};
// Blocks of Chinese characters. `tokenizers` has U+2B920 where Unicode's block begins at U+2B820.
constexpr CodePointSet::Range kHan[] = {{0x3400, 0x4DC0},   {0x4E00, 0xA000},   {0xF900, 0xFB00},  {0x20000, 0x2A6E0},
                                        {0x2A700, 0x2B820}, {0x2B920, 0x2CEB0}, {0x2F800, 0x2FA20}};
constexpr std::uint32_t kCapitalDottedI = 0x130;  // the only letter that kLowerCase turns into two characters

bool contains(std::span<const CodePointSet::Range> ranges, std::uint32_t code_point) {
  const auto range = std::ranges::upper_bound(ranges, code_point, {}, &CodePointSet::Range::end);
  return range != ranges.end() && range->begin <= code_point;
}

void append_lower_case(std::uint32_t code_point, std::string& out) {
  if (code_point == kCapitalDottedI) {
    out += "i\u0307";
    return;
  }
  const auto* run = std::ranges::lower_bound(kLowerCase, code_point, {}, &LowerCaseRun::last);
  const bool is_capital =
      run != std::end(kLowerCase) && run->first <= code_point && (code_point - run->first) % run->step == 0;
  append_utf8(out, is_capital ? code_point + static_cast<std::uint32_t>(run->difference) : code_point);
}

void append_changed(std::string_view character, CharacterChange change, std::string& out) {
  const std::uint32_t code_point = decode_utf8(character);
  switch (change) {
    case CharacterChange::kClean:
      if (contains(kSpaces, code_point)) {
        out += ' ';
      } else if (!contains(kUnclean, code_point)) {
        out += character;
      }
      return;
    case CharacterChange::kSetHanApart:
      if (contains(kHan, code_point)) {
        out.append(" ").append(character).append(" ");
      } else {
        out += character;
      }
      return;
    case CharacterChange::kLeaveOutAccents:
      if (!contains(kAccents, code_point)) out += character;
      return;
    case CharacterChange::kLeaveOutMarks:
      if (!contains(kMarks, code_point)) out += character;
      return;
    case CharacterChange::kLowerCase: append_lower_case(code_point, out); return;
  }
}

}  // namespace

void change_characters(std::string_view text, CharacterChange change, std::string& out) {
  out.clear();
  out.reserve(text.size());
  while (!text.empty()) {
    const std::string_view character = text.substr(0, utf8_announced_length(text.front()));
    const char byte = character.front();
    if (byte >= ' ' && byte < 0x7F) {  // true for most characters; only a letter may change
      const bool is_capital = change == CharacterChange::kLowerCase && byte >= 'A' && byte <= 'Z';
      out += is_capital ? static_cast<char>(byte + ('a' - 'A')) : byte;
    } else {
      append_changed(character, change, out);
    }
    text.remove_prefix(character.size());
  }
}

}  // namespace octavo
