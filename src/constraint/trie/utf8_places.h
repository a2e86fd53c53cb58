// The places of a decoder in a text of UTF-8, byte by byte (Unicode Standard, table 3-7).
#pragma once

#include <array>
#include <cstdint>

namespace octavo {

/// The place of a decoder: 0 in front of a character, 1 to 3 with so many continuations left, 4 to 7 behind E0, ED, F0,
/// F4, whose first continuation has a range of its own.
inline constexpr std::uint8_t kNumUtf8Places = 8;
inline constexpr std::uint8_t kNoUtf8Place = 0xFF;

struct Utf8PlaceStep {
  std::uint8_t low, high, next;  // a byte of [low, high] leads to the place `next`
};
inline constexpr std::array kUtf8FirstSteps = {
    Utf8PlaceStep{0x00, 0x7F, 0}, Utf8PlaceStep{0xC2, 0xDF, 1}, Utf8PlaceStep{0xE0, 0xE0, 4},
    Utf8PlaceStep{0xE1, 0xEC, 2}, Utf8PlaceStep{0xED, 0xED, 5}, Utf8PlaceStep{0xEE, 0xEF, 2},
    Utf8PlaceStep{0xF0, 0xF0, 6}, Utf8PlaceStep{0xF1, 0xF3, 3}, Utf8PlaceStep{0xF4, 0xF4, 7}};
/// The steps at places from 1 on.
inline constexpr std::array kUtf8Continuations = {Utf8PlaceStep{0x80, 0xBF, 0}, Utf8PlaceStep{0x80, 0xBF, 1},
                                                  Utf8PlaceStep{0x80, 0xBF, 2}, Utf8PlaceStep{0xA0, 0xBF, 1},
                                                  Utf8PlaceStep{0x80, 0x9F, 1}, Utf8PlaceStep{0x90, 0xBF, 2},
                                                  Utf8PlaceStep{0x80, 0x8F, 2}};

/// The place behind a byte; kNoUtf8Place: no text has the byte there.
constexpr std::uint8_t utf8_place_after(std::uint8_t place, std::uint8_t byte) {
  if (place > 0) {
    const Utf8PlaceStep& step = kUtf8Continuations[place - 1U];
    return step.low <= byte && byte <= step.high ? step.next : kNoUtf8Place;
  }
  for (const Utf8PlaceStep& step : kUtf8FirstSteps)
    if (step.low <= byte && byte <= step.high) return step.next;
  return kNoUtf8Place;
}

}  // namespace octavo
