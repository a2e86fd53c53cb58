// A picture as an encoder reads it.
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
  /// SHA-256 of the picture's file and of all that says how it is read.
  std::array<std::uint8_t, 32> digest = {};

  int num_tokens() const { return rows * columns; }
};

}  // namespace octavo
