#include "vision/orientation.h"

#include <utility>

#include "base/to_size.h"

namespace octavo {
namespace {

constexpr int kTag = 0x112;

/// The stored pixel that each pixel of the upright picture comes from: first + x * along_row + y * along_column.
struct PixelWalk {
  std::ptrdiff_t first, along_row, along_column;
};

PixelWalk walk_of(PictureSize stored, int orientation) {
  const std::ptrdiff_t width = stored.width, last_x = width - 1, last_y = (stored.height - 1) * width;
  switch (orientation) {
    case 2: return {last_x, -1, width};
    case 3: return {last_y + last_x, -1, -width};
    case 4: return {last_y, 1, -width};
    case 5: return {0, width, 1};
    case 6: return {last_y, -width, 1};
    case 7: return {last_y + last_x, -width, -1};
    case 8: return {last_x, width, -1};
    default: return {0, 1, width};
  }
}

}  // namespace

int exif_orientation(ByteView exif) {
  const ByteView tiff = exif.part(exif.has(0, "Exif") ? 6 : 0);
  const bool is_little = tiff.has(0, "II");
  if (!is_little && !tiff.has(0, "MM")) return 1;
  const auto number = [&](std::size_t place, int num_bytes) {
    return is_little ? tiff.little(place, num_bytes) : tiff.big(place, num_bytes);
  };
  const std::size_t directory = number(4, 4), num_entries = number(directory, 2);
  for (std::size_t i = 0; i < num_entries; ++i) {
    const std::size_t entry = directory + 2 + i * 12;
    if (entry >= tiff.size()) break;
    if (number(entry, 2) != kTag) continue;
    const bool is_long = number(entry + 2, 2) == 4;
    const std::uint32_t value = number(entry + 8, is_long ? 4 : 2);
    return 1 <= value && value <= 8 ? static_cast<int>(value) : 1;
  }
  return 1;
}

PictureSize turned(PictureSize stored, int orientation) {
  return orientation >= 5 ? PictureSize{stored.height, stored.width} : stored;
}

Picture turned(Picture stored, int orientation) {
  constexpr int kTile = 32;  // pixels of a side that are copied together, so that both pictures stay in the cache
  if (orientation == 1) return stored;
  Picture upright = {.size = turned(stored.size, orientation), .rgb = {}};
  upright.rgb.resize(stored.rgb.size());
  const auto [width, height] = upright.size;
  const PixelWalk walk = walk_of(stored.size, orientation);
  for (int top = 0; top < height; top += kTile) {
    for (int left = 0; left < width; left += kTile) {
      for (int y = top; y < std::min(top + kTile, height); ++y) {
        std::uint8_t* to = &upright.rgb[(to_size(y) * to_size(width) + to_size(left)) * 3];
        for (int x = left; x < std::min(left + kTile, width); ++x, to += 3) {
          const std::ptrdiff_t from = walk.first + x * walk.along_row + y * walk.along_column;
          std::copy_n(&stored.rgb[to_size(from) * 3], 3, to);
        }
      }
    }
  }
  return upright;
}

}  // namespace octavo
