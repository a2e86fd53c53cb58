#include "vision/minicpm_layout.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace octavo {
namespace {

constexpr int kMostSlices = 9;

struct SliceGrid {
  int rows = 0, columns = 0;  // 0: the picture is not sliced
};

/// The multiple of `unit` nearest to a length, at least one; halves round to even.
int nearest_multiple(double length, int unit) {
  return std::max(static_cast<int>(std::nearbyint(length / unit)) * unit, unit);
}

/// The grid of about as many slices as the picture has areas of one, at most `most`, in the order of operations of the
/// makers' processor.
SliceGrid best_grid(PictureSize size, int side, int most) {
  const double log_ratio = std::log(static_cast<double>(size.width) / size.height);
  const double ratio = static_cast<double>(size.pixels()) / (side * side);
  const int wanted = static_cast<int>(std::min(std::ceil(ratio), static_cast<double>(most)));
  SliceGrid best;
  if (wanted <= 1) return best;
  best = {1, 1};
  double least = std::numeric_limits<double>::infinity();
  for (const int count : {wanted - 1, wanted, wanted + 1}) {
    if (count == 1 || count > most) continue;
    for (int rows = 1; rows <= count; ++rows) {
      if (count % rows != 0) continue;
      const int columns = count / rows;
      const double error = std::abs(log_ratio - std::log(static_cast<double>(columns) / rows));
      if (error < least || (error == least && rows > best.rows)) best = {rows, columns};
      least = std::min(least, error);
    }
  }
  return best;
}

/// The size in whole tokens at which a part of those sides is seen: about the area of a slice, or its own if that is
/// less and it is not to be enlarged.
PictureSize seen_size(double height, double width, int side, int unit, bool enlarges) {
  if (height * width > static_cast<double>(side) * side || enlarges) {
    const double aspect = width / height;
    height = std::trunc(side / std::sqrt(aspect));
    width = std::trunc(height * aspect);
  }
  return {.width = nearest_multiple(width, unit), .height = nearest_multiple(height, unit)};
}

PictureLayout sliced(PictureSize size, const PictureGeometry& geometry, int side, int most) {
  const int unit = geometry.token_side();
  const SliceGrid grid = best_grid(size, side, most);
  const PictureSize whole = seen_size(size.height, size.width, side, unit, grid.rows == 0);
  PictureLayout layout = one_tile(whole.height / unit, whole.width / unit, geometry);
  layout.tiles.front().before = "<image>";
  layout.after = "</image>";
  if (grid.rows == 0) return layout;
  const double height = nearest_multiple(size.height, grid.rows), width = nearest_multiple(size.width, grid.columns);
  const PictureSize slice = seen_size(height / grid.rows, width / grid.columns, side, unit, true);
  layout.scaled.push_back({.width = slice.width * grid.columns, .height = slice.height * grid.rows});
  for (int row = 0; row < grid.rows; ++row)
    for (int column = 0; column < grid.columns; ++column) {
      const bool begins_row = column == 0 && row > 0;
      layout.tiles.push_back({.size = slice,
                              .rows = slice.height / unit,
                              .columns = slice.width / unit,
                              .before = std::exchange(layout.after, "</slice>") + (begins_row ? "\n" : "") + "<slice>",
                              .of_scaled = true,
                              .scaled_to = layout.scaled.back(),
                              .left = column * slice.width,
                              .top = row * slice.height});
    }
  return layout;
}

}  // namespace

PictureLayout overview_and_slices(PictureSize size, const PictureGeometry& geometry, TokenRange tokens) {
  const int unit = geometry.token_side();
  int side = geometry.tile_side, most = kMostSlices;
  while (true) {
    PictureLayout layout = sliced(size, geometry, side, most);
    if (layout.num_tokens() <= tokens.max || (most == 1 && side <= unit)) return layout;
    if (most > 1) {
      --most;
    } else {
      side = std::max(side - unit, unit);
    }
  }
}

}  // namespace octavo
