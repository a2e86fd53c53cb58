// JPEG, by libjpeg-turbo.
#pragma once

#include <cstddef>

#include "octavo/result.h"
#include "vision/byte_view.h"
#include "vision/stored_picture.h"

namespace octavo {

/// Errors (kInvalidPicture): the header is damaged.
Result<StoredPicture> read_jpeg_header(ByteView file);

/// The most memory that the pixels of a header of read_jpeg_header() take as they are decoded. Errors
/// (kInvalidPicture): what tells it is damaged.
Result<std::size_t> jpeg_decode_bytes(ByteView file, const StoredPicture& header);

/// The pixels. Errors (kInvalidPicture): they are damaged or missing, or take too long. Throws std::bad_alloc.
Result<Picture> decode_jpeg(ByteView file, const StoredPicture& header);

}  // namespace octavo
