// The format of a picture by its first bytes: what a name or a media type says is not asked.
#pragma once

#include <cstddef>
#include <span>

#include "octavo/result.h"
#include "vision/picture.h"

namespace octavo {

/// Errors (kInvalidPicture) name a known format that is not read, and a way out; of others they show the first bytes.
Result<PictureFormat> find_picture_format(std::span<const std::byte> bytes);

}  // namespace octavo
