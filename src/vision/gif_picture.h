// GIF, by giflib.
#pragma once

#include "octavo/result.h"
#include "vision/byte_view.h"
#include "vision/stored_picture.h"

namespace octavo {

/// Errors (kInvalidPicture): the header is damaged.
Result<StoredPicture> read_gif_header(ByteView file);

/// The pixels of a header that read_gif_header() has read and that is within its reader's limits. Errors
/// (kInvalidPicture): pixels are damaged or missing; they take too long. Throws std::bad_alloc.
Result<Picture> decode_gif(ByteView file, const StoredPicture& header);

}  // namespace octavo
