// How a picture lies in its file: cameras store it as the sensor saw it, and say in EXIF how it was held.
#pragma once

#include "vision/byte_view.h"
#include "vision/picture.h"

namespace octavo {

/// The orientation of EXIF's tag 0x112, 1 to 8, in a block of EXIF with or without "Exif" in front. 1 (upright) where
/// the block names none, or makes no sense.
int exif_orientation(ByteView exif);

/// The size after turning.
PictureSize turned(PictureSize stored, int orientation);

/// Turns a picture upright. Takes memory for a second picture, unless the orientation is 1.
Picture turned(Picture stored, int orientation);

}  // namespace octavo
