// The sizes of pictures of Muse Glimmer.
#pragma once

#include "vision/picture_family.h"

namespace octavo {

/// The grid of tokens nearest to the picture's aspect, of those around its own size, or around the range's most tokens
/// if it is larger.
PictureLayout nearest_aspect(PictureSize size, const PictureGeometry& geometry, TokenRange tokens);

}  // namespace octavo
