// The format of a picture by its first bytes: what a name or a media type says is not asked.
#pragma once

#include <cstddef>
#include <span>

#include "octavo/result.h"
#include "vision/picture.h"

namespace octavo {

/// The format of the bytes. Errors (kInvalidPicture) name a known format that is not read, with a way out; for unknown
/// ones they show the first bytes.
Result<PictureFormat> find_picture_format(std::span<const std::byte> bytes);

}  // namespace octavo
