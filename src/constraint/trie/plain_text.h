// Plain text has no quotes, backslashes and control characters: JSON strings hold it as it is, and most of the text of
// other forms is plain.
#pragma once

#include <array>
#include <cstdint>

#include "constraint/trie/utf8_places.h"

namespace octavo {

/// A bit for each byte under 128, the lowest first.
using AsciiSet = std::array<std::uint64_t, 2>;

inline constexpr std::array kPlainRanges = {Utf8PlaceStep{0x20, 0x21, 0}, Utf8PlaceStep{0x23, 0x5B, 0},
                                            Utf8PlaceStep{0x5D, 0x7E, 0}};
inline constexpr AsciiSet kPlainAscii = [] {
  AsciiSet bits = {};
  for (const Utf8PlaceStep& range : kPlainRanges)
    for (unsigned byte = range.low; byte <= range.high; ++byte) bits[byte / 64] |= std::uint64_t{1} << byte % 64;
  return bits;
}();
inline constexpr AsciiSet kControlAscii = {0xFFFFFFFF, 0};

constexpr bool holds_byte(const AsciiSet& set, std::uint8_t byte) {
  return byte < 128 && (set[byte / 64U] >> byte % 64U & 1) != 0;
}
constexpr bool have_common(const AsciiSet& a, const AsciiSet& b) { return (a[0] & b[0]) != 0 || (a[1] & b[1]) != 0; }
/// Whether all of `a` are in `b`.
constexpr bool are_within(const AsciiSet& a, const AsciiSet& b) { return (a[0] & ~b[0]) == 0 && (a[1] & ~b[1]) == 0; }

}  // namespace octavo
