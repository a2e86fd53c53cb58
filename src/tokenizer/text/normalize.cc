#include "tokenizer/text/normalize.h"

#include <utf8proc.h>

#include <algorithm>
#include <array>
#include <vector>

#include "base/error.h"
#include "base/to_size.h"
#include "base/utf8.h"

namespace octavo {

namespace {

// Characters that stay as they are: the normalizer of `tokenizers` (0.23.3) is that of Unicode 9, and these came later,
// so it decomposes none of them, and none is a mark. utf8proc knows them.
struct Range {
  std::int32_t first, last;
};
constexpr Range kLaterThanUnicode9[] = {
    {0x7FD, 0x7FD},     {0x898, 0x89F},     {0x8CA, 0x8D3},     {0x9FE, 0x9FE},     {0xC3C, 0xC3C},
    {0xD3B, 0xD3C},     {0xEBA, 0xEBA},     {0x1715, 0x1715},   {0x1ABF, 0x1ACE},   {0x1DF6, 0x1DFA},
    {0x32FF, 0x32FF},   {0xA7F2, 0xA7F4},   {0xA82C, 0xA82C},   {0xAB69, 0xAB69},   {0x10781, 0x10785},
    {0x10787, 0x107B0}, {0x107B2, 0x107BA}, {0x10D24, 0x10D27}, {0x10EAB, 0x10EAC}, {0x10EFD, 0x10EFF},
    {0x10F46, 0x10F50}, {0x10F82, 0x10F85}, {0x11070, 0x11070}, {0x1133B, 0x1133B}, {0x1145E, 0x1145E},
    {0x11839, 0x1183A}, {0x1193D, 0x1193E}, {0x11943, 0x11943}, {0x119E0, 0x119E0}, {0x11A34, 0x11A34},
    {0x11A47, 0x11A47}, {0x11A99, 0x11A99}, {0x11D42, 0x11D42}, {0x11D44, 0x11D45}, {0x11D97, 0x11D97},
    {0x11F41, 0x11F42}, {0x16FF0, 0x16FF1}, {0x1E030, 0x1E06D}, {0x1E08F, 0x1E08F}, {0x1E130, 0x1E136},
    {0x1E2AE, 0x1E2AE}, {0x1E2EC, 0x1E2EF}, {0x1E4EC, 0x1E4EF}, {0x1F16C, 0x1F16C}, {0x1FBF0, 0x1FBF9}};

bool came_later(std::int32_t code_point) {
  const auto* range = std::ranges::lower_bound(kLaterThanUnicode9, code_point, {}, &Range::last);
  return range != std::end(kLaterThanUnicode9) && range->first <= code_point;
}

struct Character {
  std::int32_t code_point;
  std::uint8_t combining_class;
};

std::uint8_t combining_class(std::int32_t code_point) {
  return static_cast<std::uint8_t>(utf8proc_get_property(code_point)->combining_class);
}

bool is_surrogate(std::int32_t code_point) { return code_point >= 0xD800 && code_point < 0xE000; }

bool is_compatible(Normalization n) { return n == Normalization::kNfkc || n == Normalization::kNfkd; }
bool composes(Normalization n) { return n == Normalization::kNfc || n == Normalization::kNfkc; }

std::vector<Character> decompose(std::string_view text, Normalization normalization) {
  std::vector<Character> characters;
  characters.reserve(text.size());
  const auto options = static_cast<utf8proc_option_t>(
      is_compatible(normalization) ? UTF8PROC_DECOMPOSE | UTF8PROC_COMPAT : UTF8PROC_DECOMPOSE);
  std::array<std::int32_t, 32> parts{};  // the longest decomposition has 18
  for (std::size_t i = 0; i < text.size(); i += utf8_announced_length(text[i])) {
    const auto code_point = static_cast<std::int32_t>(decode_utf8(text.substr(i)));
    if (is_surrogate(code_point) || came_later(code_point)) {
      characters.push_back({code_point, 0});
      continue;
    }
    int boundary_class = 0;
    const auto num_parts = utf8proc_decompose_char(code_point, parts.data(), parts.size(), options, &boundary_class);
    OCTAVO_CHECK(num_parts >= 0 && to_size(num_parts) <= parts.size(), "U+{:X}", code_point);
    for (std::size_t part = 0; part < to_size(num_parts); ++part) {
      characters.push_back({parts[part], combining_class(parts[part])});
    }
  }
  return characters;
}

/// Puts marks in the order of their classes; marks of one class keep their order.
void order_marks(std::vector<Character>& characters) {
  for (auto begin = characters.begin(); begin != characters.end();) {
    if (begin->combining_class == 0) {
      ++begin;
      continue;
    }
    const auto end = std::find_if(begin, characters.end(), [](const Character& c) { return c.combining_class == 0; });
    std::stable_sort(begin, end,
                     [](const Character& a, const Character& b) { return a.combining_class < b.combining_class; });
    begin = end;
  }
}

}  // namespace

bool is_surely_normalized(std::string_view text, Normalization normalization) {
  if (normalization == Normalization::kNone) return true;
  // NFC changes nothing below U+0300, NFD nothing below U+00C0, the others nothing below U+0080.
  const unsigned char first_lead = is_compatible(normalization) ? 0x80 : composes(normalization) ? 0xCC : 0xC3;
  return std::ranges::none_of(text, [=](char c) { return static_cast<unsigned char>(c) >= first_lead; });
}

std::string normalize(std::string_view text, Normalization normalization) {
  if (is_surely_normalized(text, normalization)) return std::string(text);
  std::vector<Character> characters = decompose(text, normalization);
  order_marks(characters);
  std::vector<std::int32_t> code_points(characters.size());
  std::ranges::transform(characters, code_points.begin(), &Character::code_point);
  auto size = static_cast<utf8proc_ssize_t>(code_points.size());
  if (composes(normalization)) {
    const auto options = static_cast<utf8proc_option_t>(UTF8PROC_COMPOSE | UTF8PROC_STABLE);
    size = utf8proc_normalize_utf32(code_points.data(), size, options);
    OCTAVO_CHECK(size >= 0);
  }
  std::string result;
  result.reserve(text.size());
  for (std::size_t i = 0; i < to_size(size); ++i) append_utf8(result, static_cast<std::uint32_t>(code_points[i]));
  return result;
}

}  // namespace octavo
