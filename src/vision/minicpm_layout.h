// The slices of pictures of MiniCPM-V.
#pragma once

#include "vision/picture_family.h"

namespace octavo {

/// All of the picture at about the area of a slice, and in front of its rows; behind it, if it is larger than that, the
/// slices of a grid whose aspect is nearest to the picture's (LLaVA-UHD; Xu et al., 2024). Where that is more tokens
/// than are wanted, there are fewer slices, then a smaller area.
PictureLayout overview_and_slices(PictureSize size, const PictureGeometry& geometry, TokenRange tokens);

}  // namespace octavo
