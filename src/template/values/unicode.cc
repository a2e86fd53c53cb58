#include "template/values/unicode.h"

#include <utf8proc.h>

#include <algorithm>
#include <iterator>

#include "template/values/special_casing.h"

namespace octavo::jinja {

namespace {

struct Interval {
  std::uint32_t first;
  std::uint32_t last;
};

// Digits that are no decimal digits (Numeric_Type=Digit).
constexpr Interval kDigits[] = {{0xB2, 0xB3},       {0xB9, 0xB9},       {0x1369, 0x1371},   {0x19DA, 0x19DA},
                                {0x2070, 0x2070},   {0x2074, 0x2079},   {0x2080, 0x2089},   {0x2460, 0x2468},
                                {0x2474, 0x247C},   {0x2488, 0x2490},   {0x24EA, 0x24EA},   {0x24F5, 0x24FD},
                                {0x24FF, 0x24FF},   {0x2776, 0x277E},   {0x2780, 0x2788},   {0x278A, 0x2792},
                                {0x10A40, 0x10A43}, {0x10E60, 0x10E68}, {0x11052, 0x1105A}, {0x1F100, 0x1F10A}};
// Lower and upper case beyond the categories Ll and Lu (Other_Lowercase, Other_Uppercase).
constexpr Interval kOtherLower[] = {
    {0xAA, 0xAA},     {0xBA, 0xBA},     {0x2B0, 0x2B8},     {0x2C0, 0x2C1},     {0x2E0, 0x2E4},     {0x345, 0x345},
    {0x37A, 0x37A},   {0x1D2C, 0x1D6A}, {0x1D78, 0x1D78},   {0x1D9B, 0x1DBF},   {0x2071, 0x2071},   {0x207F, 0x207F},
    {0x2090, 0x209C}, {0x2170, 0x217F}, {0x24D0, 0x24E9},   {0x2C7C, 0x2C7D},   {0xA69C, 0xA69D},   {0xA770, 0xA770},
    {0xA7F8, 0xA7F9}, {0xAB5C, 0xAB5F}, {0x10780, 0x10780}, {0x10783, 0x10785}, {0x10787, 0x107B0}, {0x107B2, 0x107BA}};
constexpr Interval kOtherUpper[] = {
    {0x2160, 0x216F}, {0x24B6, 0x24CF}, {0x1F130, 0x1F149}, {0x1F150, 0x1F169}, {0x1F170, 0x1F189}};

bool is_in(std::span<const Interval> intervals, std::uint32_t code_point) {
  const auto found = std::lower_bound(intervals.begin(), intervals.end(), code_point,
                                      [](const Interval& interval, std::uint32_t c) { return interval.last < c; });
  return found != intervals.end() && found->first <= code_point;
}

utf8proc_category_t category(std::uint32_t code_point) {
  return utf8proc_category(static_cast<utf8proc_int32_t>(code_point));
}

bool is_cased(std::uint32_t code_point) { return is_lower(code_point) || is_upper(code_point) || is_title(code_point); }

/// Whether a character between a letter and the end of its word does not end the word (Case_Ignorable).
bool is_passed_over(std::uint32_t code_point) {
  switch (category(code_point)) {
    case UTF8PROC_CATEGORY_MN:
    case UTF8PROC_CATEGORY_ME:
    case UTF8PROC_CATEGORY_CF:
    case UTF8PROC_CATEGORY_LM:
    case UTF8PROC_CATEGORY_SK: return true;
    default: break;
  }
  constexpr std::uint32_t kMarks[] = {'\'',   '.',    ':',    0xB7,   0x387,  0x559,  0x55F,  0x5F4,  0x2018,
                                      0x2019, 0x2024, 0x2027, 0xFE13, 0xFE52, 0xFE55, 0xFF07, 0xFF0E, 0xFF1A};
  return std::binary_search(std::begin(kMarks), std::end(kMarks), code_point);
}

/// Whether a capital sigma after a letter, two bytes before `at`, ends its word: no letter follows it.
bool ends_word(std::string_view bytes, std::size_t at, std::size_t end) {
  for (; at < end; at += character_bytes(bytes[at])) {
    const std::uint32_t code_point = code_point_at(bytes, at);
    if (!is_passed_over(code_point)) return !is_cased(code_point);
  }
  return true;
}

/// Whether the text before a byte ends with a letter, apart from marks.
bool ends_with_letter(std::string_view bytes, std::size_t end) {
  while (end > 0) {
    do {
      --end;
    } while ((static_cast<unsigned char>(bytes[end]) & 0xC0U) == 0x80U);
    const std::uint32_t code_point = code_point_at(bytes, end);
    if (!is_passed_over(code_point)) return is_cased(code_point);
  }
  return false;
}

void append_lower(TextBuilder& out, const Text& text, std::size_t begin, std::size_t end, bool within_text) {
  bool follows_letter = within_text && ends_with_letter(text.bytes, begin);
  const std::size_t context_end = within_text ? text.bytes.size() : end;
  for (std::size_t at = begin; at < end; at += character_bytes(text.bytes[at])) {
    const std::uint32_t c = code_point_at(text.bytes, at);
    const Origin origin = text.origin_at(at);
    if (c == 0x130) {
      out.append("i\u0307", origin);
    } else if (c == 0x3A3) {
      out.append(follows_letter && ends_word(text.bytes, at + 2, context_end) ? "\u03C2" : "\u03C3", origin);
    } else {
      out.append_character(static_cast<std::uint32_t>(utf8proc_tolower(static_cast<utf8proc_int32_t>(c))), origin);
    }
    if (c < 0x80 ? c != '\'' && c != '.' && c != ':' && c != '^' && c != '`' : !is_passed_over(c))
      follows_letter = is_cased(c);
  }
}

}  // namespace

bool is_space(std::uint32_t c) {
  if (c < 0x80) return c == ' ' || (c >= 9 && c <= 13) || (c >= 0x1C && c <= 0x1F);
  return c == 0x85 || c == 0xA0 || c == 0x1680 || (c >= 0x2000 && c <= 0x200A) || c == 0x2028 || c == 0x2029 ||
         c == 0x202F || c == 0x205F || c == 0x3000;
}

bool is_printable(std::uint32_t code_point) {
  if (code_point < 0x7F) return code_point >= 0x20;
  switch (category(code_point)) {
    case UTF8PROC_CATEGORY_CN:
    case UTF8PROC_CATEGORY_CC:
    case UTF8PROC_CATEGORY_CF:
    case UTF8PROC_CATEGORY_CS:
    case UTF8PROC_CATEGORY_CO:
    case UTF8PROC_CATEGORY_ZS:
    case UTF8PROC_CATEGORY_ZL:
    case UTF8PROC_CATEGORY_ZP: return false;
    default: return true;
  }
}

bool is_letter(std::uint32_t code_point) {
  const auto found = category(code_point);
  return found >= UTF8PROC_CATEGORY_LU && found <= UTF8PROC_CATEGORY_LO;
}

bool is_decimal(std::uint32_t code_point) { return category(code_point) == UTF8PROC_CATEGORY_ND; }

bool is_digit(std::uint32_t code_point) { return is_decimal(code_point) || is_in(kDigits, code_point); }

bool is_numeric(std::uint32_t code_point) {
  const auto found = category(code_point);
  return found >= UTF8PROC_CATEGORY_ND && found <= UTF8PROC_CATEGORY_NO;
}

bool is_lower(std::uint32_t code_point) {
  return category(code_point) == UTF8PROC_CATEGORY_LL || is_in(kOtherLower, code_point);
}

bool is_upper(std::uint32_t code_point) {
  return category(code_point) == UTF8PROC_CATEGORY_LU || is_in(kOtherUpper, code_point);
}

bool is_title(std::uint32_t code_point) { return category(code_point) == UTF8PROC_CATEGORY_LT; }

bool is_word(std::uint32_t code_point) { return code_point == '_' || is_letter(code_point) || is_numeric(code_point); }

void append_in_case(TextBuilder& out, const Text& text, std::size_t begin, std::size_t end, Case wanted,
                    bool within_text) {
  if (wanted == Case::kLower) return append_lower(out, text, begin, end, within_text);
  for (std::size_t at = begin; at < end; at += character_bytes(text.bytes[at])) {
    const std::uint32_t c = code_point_at(text.bytes, at);
    const Origin origin = text.origin_at(at);
    const auto special =
        std::lower_bound(std::begin(kSpecialCases), std::end(kSpecialCases), c,
                         [](const SpecialCase& row, std::uint32_t code) { return row.code_point < code; });
    if (c >= 0x80 && special != std::end(kSpecialCases) && special->code_point == c) {
      out.append(wanted == Case::kUpper ? special->upper : special->title, origin);
      continue;
    }
    const auto code = static_cast<utf8proc_int32_t>(c);
    const auto changed = wanted == Case::kUpper ? utf8proc_toupper(code) : utf8proc_totitle(code);
    out.append_character(static_cast<std::uint32_t>(changed), origin);
  }
}

}  // namespace octavo::jinja
