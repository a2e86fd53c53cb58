#include "vision/picture.h"

#include <algorithm>
#include <new>

#include "base/error.h"
#include "vision/gif_picture.h"
#include "vision/jpeg_picture.h"
#include "vision/orientation.h"
#include "vision/picture_format.h"
#include "vision/png_picture.h"
#include "vision/stored_picture.h"
#include "vision/webp_picture.h"

namespace octavo {
namespace {

struct FormatReader {
  Result<StoredPicture> (*read_header)(ByteView file);
  Result<std::size_t> (*decode_bytes)(ByteView file, const StoredPicture& header);
  Result<Picture> (*decode)(ByteView file, const StoredPicture& header);
};

FormatReader reader_of(PictureFormat format) {
  switch (format) {
    case PictureFormat::kJpeg: return {read_jpeg_header, jpeg_decode_bytes, decode_jpeg};
    case PictureFormat::kPng: return {read_png_header, png_decode_bytes, decode_png};
    case PictureFormat::kWebp: return {read_webp_header, webp_decode_bytes, decode_webp};
    case PictureFormat::kGif: break;
  }
  return {read_gif_header, gif_decode_bytes, decode_gif};
}

Result<void> check_size(PictureSize size, const PictureLimits& limits) {
  constexpr auto kKind = ErrorKind::kPictureTooLarge;
  const auto [width, height] = size;
  const int longer = std::max(width, height), shorter = std::min(width, height);
  if (shorter < 1) return damaged("the picture has no pixels: it is {} x {}", width, height);
  if (longer > limits.side)
    return fail_as(kKind, "the picture is {} x {} pixels; a side may have at most {}", width, height, limits.side);
  if (longer > std::int64_t{limits.aspect} * shorter)
    return fail_as(kKind, "the picture is {} x {} pixels; the longer side may be at most {} times the shorter", width,
                   height, limits.aspect);
  if (size.pixels() > limits.pixels)
    return fail_as(kKind, "the picture is {} x {}, {} pixels; it may have at most {}", width, height, size.pixels(),
                   limits.pixels);
  return {};
}

/// The facts about a picture before a pixel is decoded.
struct CheckedPicture {
  FormatReader reader;
  StoredPicture stored;
  PictureHeader header;
};

Result<CheckedPicture> check(std::span<const std::byte> bytes, const PictureLimits& limits) {
  constexpr auto kKind = ErrorKind::kPictureTooLarge;
  if (bytes.size() > limits.bytes)
    return fail_as(kKind, "the picture has {} bytes; it may have at most {}", bytes.size(), limits.bytes);
  OCTAVO_TRY(const PictureFormat format, find_picture_format(bytes));
  const FormatReader reader = reader_of(format);
  OCTAVO_TRY(const StoredPicture stored, reader.read_header(bytes));
  const PictureSize size = turned(stored.size, stored.orientation);
  OCTAVO_TRY_VOID(check_size(size, limits));
  OCTAVO_TRY(const std::size_t decoding, reader.decode_bytes(bytes, stored));
  const std::size_t turning = stored.orientation == 1 ? 0 : 2 * rgb_bytes(size);
  const std::size_t decode_bytes = std::max(decoding, turning);
  if (decode_bytes > limits.decode_bytes)
    return fail_as(kKind, "the picture takes {} bytes of memory as it is decoded; it may take at most {}", decode_bytes,
                   limits.decode_bytes);
  return CheckedPicture{
      .reader = reader, .stored = stored, .header = {.format = format, .size = size, .decode_bytes = decode_bytes}};
}

}  // namespace

Result<PictureHeader> read_picture_header(std::span<const std::byte> bytes, const PictureLimits& limits) {
  OCTAVO_TRY(const CheckedPicture checked, check(bytes, limits));
  return checked.header;
}

Result<Picture> decode_picture(std::span<const std::byte> bytes, const PictureLimits& limits) try {
  OCTAVO_TRY(const CheckedPicture checked, check(bytes, limits));
  OCTAVO_TRY(Picture picture, checked.reader.decode(bytes, checked.stored));
  return turned(std::move(picture), checked.stored.orientation);
} catch (const std::bad_alloc&) {
  return fail_as(ErrorKind::kOutOfMemory, "the system has no memory for the pixels of the picture");
}

}  // namespace octavo
