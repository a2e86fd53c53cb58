// The position of a row for rotations.
//
// Plain value; any thread.
#pragma once

#include <cstdint>

namespace octavo {

/// In texts this is one number. The rows of a picture all have the time at which it begins, and each has its row and
/// its column in the picture's grid, counted on from there, for models whose rotations have parts (RopeSections).
struct RopePosition {
  std::int32_t time = 0, row = 0, column = 0;

  constexpr RopePosition() = default;
  constexpr RopePosition(std::int32_t position)  // NOLINT(google-explicit-constructor): a text's token has one
      : time(position), row(position), column(position) {}
  constexpr RopePosition(std::int32_t begin, std::int32_t grid_row, std::int32_t grid_column)
      : time(begin), row(begin + grid_row), column(begin + grid_column) {}

  friend constexpr RopePosition operator+(RopePosition position, std::int32_t count) {
    position.time += count;
    position.row += count;
    position.column += count;
    return position;
  }
  friend constexpr bool operator==(const RopePosition&, const RopePosition&) = default;
};

}  // namespace octavo
