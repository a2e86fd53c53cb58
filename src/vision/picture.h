// A picture as pixels, and the way to it from the bytes that somebody sent: JPEG, PNG, WebP, or a GIF's first frame.
//
// Nobody is trusted. A header is read first, by itself, and what it says is held against limits before memory is taken
// for pixels; the libraries' own memory and the length of their work are bounded too, and their messages are not
// printed. docs/pictures.md says which pictures are read and how.
//
// Functions without state; any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "octavo/result.h"

namespace octavo {

struct PictureSize {
  int width = 0, height = 0;
  bool operator==(const PictureSize&) const = default;

  constexpr std::int64_t pixels() const { return std::int64_t{width} * height; }
};

struct Picture {
  PictureSize size = {};
  std::vector<std::uint8_t> rgb = {};  // [height, width, 3]
};

/// The most that a picture may have; its sides are those after turning as its EXIF says.
struct PictureLimits {
  std::size_t bytes = std::size_t{20} << 20;  // the file
  std::int64_t pixels = std::int64_t{64} << 20;
  int side = 16384;
  int aspect = 200;                                   // the longer side divided by the shorter one
  std::size_t decode_bytes = std::size_t{512} << 20;  // the memory that decoding takes, the pixels among it
};

enum class PictureFormat : std::uint8_t { kJpeg, kPng, kWebp, kGif };

/// The size of the picture and the cost of decoding it.
struct PictureHeader {
  PictureFormat format = PictureFormat::kPng;
  PictureSize size = {};         // after turning: the size of what decode_picture() gives
  std::size_t decode_bytes = 0;  // the most memory that decode_picture() takes, but for some hundred kilobytes
};

/// The header alone: no pixel is decoded, and next to no memory taken. Errors: the bytes are no picture, in a format
/// that is not read, or damaged (kInvalidPicture); the picture is beyond a limit, with both numbers (kPictureTooLarge).
Result<PictureHeader> read_picture_header(std::span<const std::byte> bytes, const PictureLimits& limits = {});

/// The picture, turned as its EXIF says, on white where it is transparent. Errors: those of read_picture_header();
/// pixels that are damaged or missing (kInvalidPicture); the system has no memory (kOutOfMemory).
Result<Picture> decode_picture(std::span<const std::byte> bytes, const PictureLimits& limits = {});

}  // namespace octavo
