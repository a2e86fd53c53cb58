// A picture, or a tile of one, as an encoder reads it.
//
// Plain value; any thread.
#pragma once

#include <array>
#include <cstdint>

#include "vision/picture.h"

namespace octavo {

struct PreparedPicture {
  Picture pixels = {};        // the pixels as the encoder sees them; empty where only the size was asked for
  int rows = 0, columns = 0;  // the grid of its tokens
  bool ends_picture = true;   // no further tile of the same picture follows
  /// SHA-256 of the picture's file and of all that says how it is read, and which tile it is.
  std::array<std::uint8_t, 32> digest = {};

  int num_tokens() const { return rows * columns; }
};

}  // namespace octavo
