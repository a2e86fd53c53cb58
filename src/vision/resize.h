// Pictures in another size, as the image processors of the models' makers have them.
//
// It is the convolution of Pillow up to version 12, bit for bit: a filter that becomes wider when a picture shrinks,
// weights of 22 bits, first along the rows, then along the columns, rounded to 8 bits between. Integers alone meet
// pixels, and weights are made of functions with the same bits everywhere: so are the results.
#pragma once

#include <cstdint>

#include "vision/picture.h"

namespace octavo {

enum class ResizeFilter : std::uint8_t { kBilinear, kBicubic, kLanczos };

/// The picture, scaled to a size of at least one pixel; one that has this size already is returned as it is. `picture`
/// has at least one pixel.
Picture resize(const Picture& picture, PictureSize size, ResizeFilter filter);

struct PicturePlace {
  int left = 0, top = 0;
};
/// The part of the picture that begins at `place`, which must lie in it.
Picture cut(const Picture& picture, PicturePlace place, PictureSize size);

}  // namespace octavo
