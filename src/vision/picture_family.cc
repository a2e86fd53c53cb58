#include "vision/picture_family.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace octavo {
namespace {

/// The number of tokens along a side of `pixels`; halves round to even.
std::int64_t nearest_tokens(int pixels, double unit) {
  return static_cast<std::int64_t>(std::nearbyint(pixels / unit));
}

/// The sides nearest to the picture's that are multiples of a token's and whose area is in the range. In double
/// precision and in this order of operations, as the makers' processor computes it.
PictureLayout nearest_multiples(PictureSize size, const PictureGeometry& geometry, TokenRange tokens) {
  const double unit = geometry.token_side(), area = unit * unit, pixels = static_cast<double>(size.pixels());
  const int max = std::max(tokens.max, 1), min = std::clamp(tokens.min, 1, max);
  std::int64_t rows = nearest_tokens(size.height, unit), columns = nearest_tokens(size.width, unit);
  if (rows * columns > max) {
    const double shrink = std::sqrt(pixels / (max * area));
    const auto shrunk = [&](int side) {
      return std::max(std::int64_t{1}, static_cast<std::int64_t>(std::floor(side / shrink / unit)));
    };
    rows = shrunk(size.height);
    columns = shrunk(size.width);
  } else if (rows * columns < min) {
    const double grow = std::sqrt(min * area / pixels);
    const auto grown = [&](int side) { return static_cast<std::int64_t>(std::ceil(side * grow / unit)); };
    rows = grown(size.height);
    columns = grown(size.width);
  }
  const int num_rows = static_cast<int>(rows), num_columns = static_cast<int>(columns);
  return {.tiles = {{.size = {num_columns * geometry.token_side(), num_rows * geometry.token_side()},
                     .rows = num_rows,
                     .columns = num_columns}}};
}

constexpr std::array<float, 3> kHalf = {0.5F, 0.5F, 0.5F};

constexpr PictureFamily kFamilies[] = {
    {.name = "qwen3vl_merger",
     .filter = ResizeFilter::kBicubic,
     .mean = kHalf,
     .deviation = kHalf,
     .min_tokens = 64,
     .usual_max_tokens = 1280,
     .most_tokens = 4096,
     .markup = {.place = "<|vision_start|><|image_pad|><|vision_end|>", .placeholder = "<|image_pad|>"},
     .layout = nearest_multiples},
};

}  // namespace

int PictureLayout::num_tokens() const {
  return std::accumulate(tiles.begin(), tiles.end(), 0,
                         [](int sum, const PictureTile& tile) { return sum + tile.num_tokens(); });
}

TokenRange PictureFamily::usual_tokens(TokenRange of_file) const {
  const int most = of_file.max > 0 ? std::min(of_file.max, most_tokens) : most_tokens;
  return {.min = of_file.min > 0 ? std::min(of_file.min, most) : std::min(min_tokens, most),
          .max = std::min(most, usual_max_tokens)};
}

std::span<const PictureFamily> picture_families() { return kFamilies; }

const PictureFamily* find_picture_family(std::string_view name) {
  const auto* found = std::ranges::find(kFamilies, name, &PictureFamily::name);
  return found == std::ranges::end(kFamilies) ? nullptr : found;
}

}  // namespace octavo
