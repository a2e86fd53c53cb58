// What the readers of the formats have in common. Each has three functions in a header of its own, which alone know its
// library: for the header, for the memory that pixels take, and for the pixels.
#pragma once

#include <cstddef>
#include <utility>

#include "base/error.h"
#include "base/to_size.h"
#include "vision/byte_view.h"
#include "vision/picture.h"

namespace octavo {

/// The facts in a picture's header, before turning.
struct StoredPicture {
  PictureSize size = {};
  int orientation = 1;  // the orientation that EXIF names, 1 to 8
};

constexpr std::size_t rgb_bytes(PictureSize size) { return to_size(size.pixels()) * 3; }

/// A value of a colour over white; an alpha of 0 lets all of the white through. Rounded to the nearest.
constexpr std::uint8_t on_white(std::uint8_t value, int alpha) {
  const int sum = value * alpha + 255 * (255 - alpha) + 128;
  return static_cast<std::uint8_t>((sum + (sum >> 8)) >> 8);
}

template <class... Args>
std::unexpected<Error> damaged(fmt::format_string<Args...> format, Args&&... args) {
  return fail_as(ErrorKind::kInvalidPicture, format, std::forward<Args>(args)...);
}

}  // namespace octavo
