#include "vision/picture_family.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "vision/minicpm_layout.h"
#include "vision/muse_layout.h"

namespace octavo {
namespace {

/// The number of tokens along a side of `pixels`; halves round to even.
std::int64_t nearest_tokens(int pixels, double unit) {
  return static_cast<std::int64_t>(std::nearbyint(pixels / unit));
}

/// The sides nearest to the picture's that are multiples of a token's and whose area is in the range. In double
/// precision and in this order of operations, as the makers' processor computes it.
/// `least`: the fewest tokens along a side before the area is looked at.
PictureLayout nearest_multiples_from(PictureSize size, const PictureGeometry& geometry, TokenRange tokens, int least) {
  const double unit = geometry.token_side(), area = unit * unit, pixels = static_cast<double>(size.pixels());
  const int max = std::max(tokens.max, 1), min = std::clamp(tokens.min, 1, max);
  std::int64_t rows = std::max(nearest_tokens(size.height, unit), std::int64_t{least});
  std::int64_t columns = std::max(nearest_tokens(size.width, unit), std::int64_t{least});
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
  return one_tile(static_cast<int>(rows), static_cast<int>(columns), geometry);
}

PictureLayout nearest_multiples(PictureSize size, const PictureGeometry& geometry, TokenRange tokens) {
  return nearest_multiples_from(size, geometry, tokens, 0);
}
/// The same of a picture that has a token along each side.
PictureLayout nearest_multiples_of_a_token(PictureSize size, const PictureGeometry& geometry, TokenRange tokens) {
  return nearest_multiples_from(size, geometry, tokens, 1);
}

/// The largest sides with the picture's aspect whose area is at most that of the range's most tokens: small pictures
/// are enlarged to as many. In this order of operations, as the makers' processor computes it.
PictureLayout within_budget(PictureSize size, const PictureGeometry& geometry, TokenRange tokens) {
  const double unit = geometry.token_side();
  const int max = std::max(tokens.max, 1);
  const double factor = std::sqrt(max * unit * unit / static_cast<double>(size.pixels()));
  int rows = static_cast<int>(std::floor(factor * size.height / unit));
  int columns = static_cast<int>(std::floor(factor * size.width / unit));
  if (rows == 0) {
    rows = 1;
    columns = std::clamp(size.width / size.height, 1, max);
  } else if (columns == 0) {
    columns = 1;
    rows = std::clamp(size.height / size.width, 1, max);
  }
  return one_tile(rows, columns, geometry);
}

/// A picture's sides with the longer one made `longest` and the other even, as the processor of SmolVLM rounds them.
PictureSize with_longest_side(PictureSize size, int longest) {
  const double aspect = static_cast<double>(size.width) / size.height;
  const auto other = [](double side) {
    const int whole = static_cast<int>(side);
    return std::max(whole + whole % 2, 1);
  };
  return size.width >= size.height ? PictureSize{longest, other(longest / aspect)}
                                   : PictureSize{other(longest * aspect), longest};
}

/// The sides rounded up to multiples of a tile's: the longer one, and the other of what keeps the aspect.
PictureSize whole_tiles(PictureSize size, int tile) {
  const double aspect = static_cast<double>(size.width) / size.height;
  const auto up = [tile](int side) { return std::max((side + tile - 1) / tile, 1) * tile; };
  if (size.width >= size.height) {
    const int width = up(size.width);
    return {width, up(static_cast<int>(width / aspect))};
  }
  const int height = up(size.height);
  return {up(static_cast<int>(height * aspect)), height};
}

/// The tiles of a picture whose longer side is made `longest`, row by row, and an overview of all behind them.
PictureLayout tiles_of_side(PictureSize size, const PictureGeometry& geometry, int longest) {
  const int side = geometry.tile_side, patches = side / geometry.patch_side;
  const int seen = patches * geometry.patch_side, tokens = patches / geometry.merge_side;
  PictureLayout layout;
  layout.scaled.push_back(with_longest_side(size, longest));
  layout.scaled.push_back(whole_tiles(layout.scaled.front(), side));
  const PictureSize scaled = layout.scaled.back();
  const PictureTile tile = {
      .size = {seen, seen}, .rows = tokens, .columns = tokens, .of_scaled = true, .scaled_to = scaled};
  const int rows = scaled.height / side, columns = scaled.width / side;
  const std::string around = "<fake_token_around_image>";
  std::string row_end;
  for (int row = 0; row < rows && rows * columns > 1; ++row) {
    for (int column = 0; column < columns; ++column) {
      PictureTile& made = layout.tiles.emplace_back(tile);
      made.left = column * side;
      made.top = row * side;
      made.before = std::exchange(row_end, "") + around + "<row_" + std::to_string(row + 1) + "_col_" +
                    std::to_string(column + 1) + ">";
    }
    row_end = "\n";
  }
  PictureTile& overview = layout.tiles.emplace_back(tile);
  overview.scaled_to = {side, side};
  overview.before = (layout.tiles.size() > 1 ? "\n\n" : "") + around + "<global-img>";
  layout.after = around;
  return layout;
}

/// Tiles of one size with an overview behind them (SmolVLM). Where that is more tokens than are wanted, the picture is
/// made smaller by a tile's side at a time.
PictureLayout tiles_and_overview(PictureSize size, const PictureGeometry& geometry, TokenRange tokens) {
  for (int longest = geometry.longest_side;; longest -= geometry.tile_side) {
    PictureLayout layout = tiles_of_side(size, geometry, std::max(longest, geometry.tile_side));
    if (layout.num_tokens() <= tokens.max || longest <= geometry.tile_side) return layout;
  }
}

// The tokens of a tile and of an overview, and the tiles of a picture, of LFM2-VL.
constexpr int kLfmTileSide = 16, kLfmOverview = 256, kLfmFewestTiles = 2, kLfmMostTiles = 10;

struct TileGrid {
  int columns = 1, rows = 1;
};

/// The grid of at most `most` tiles whose aspect is nearest to the picture's; of equally near ones the larger, if the
/// picture covers more than half of it.
TileGrid nearest_grid(PictureSize size, int tile, int most) {
  const double aspect = static_cast<double>(size.width) / size.height;
  double nearest = std::numeric_limits<double>::infinity();
  TileGrid best;
  for (int count = kLfmFewestTiles; count <= most; ++count)
    for (int columns = 1; columns <= count; ++columns) {
      if (count % columns != 0) continue;
      const int rows = count / columns;
      const double difference = std::abs(aspect - static_cast<double>(columns) / rows);
      const bool covers = static_cast<double>(size.pixels()) > 0.5 * tile * tile * count;
      if (difference < nearest || (difference == nearest && covers)) best = {columns, rows};
      nearest = std::min(nearest, difference);
    }
  return best;
}

/// A picture in the range of tokens of an overview, or, if it is much larger, tiles and the overview behind them
/// (LFM2-VL).
PictureLayout tiles_of_large_ones(PictureSize size, const PictureGeometry& geometry, TokenRange tokens) {
  const int unit = geometry.token_side(), side = kLfmTileSide * unit;
  const TokenRange overview = {.min = std::min(tokens.min, kLfmOverview), .max = std::min(tokens.max, kLfmOverview)};
  PictureLayout layout = nearest_multiples_of_a_token(size, geometry, overview);
  const auto rounded = [&](int pixels) {
    return std::max(nearest_tokens(pixels, unit) * unit, std::int64_t{geometry.patch_side});
  };
  const bool is_large = rounded(size.width) * rounded(size.height) > std::int64_t{2} * kLfmOverview * unit * unit;
  const int most = std::min(kLfmMostTiles, (tokens.max - kLfmOverview) / (kLfmTileSide * kLfmTileSide));
  if (!is_large || most < kLfmFewestTiles) return layout;
  const auto [columns, rows] = nearest_grid(size, side, most);
  layout.scaled.push_back({columns * side, rows * side});
  PictureTile whole = std::move(layout.tiles.front());
  layout.tiles.clear();
  for (int row = 0; row < rows; ++row)
    for (int column = 0; column < columns; ++column)
      layout.tiles.push_back(
          {.size = {side, side},
           .rows = kLfmTileSide,
           .columns = kLfmTileSide,
           .before = "<|img_row_" + std::to_string(row + 1) + "_col_" + std::to_string(column + 1) + "|>",
           .of_scaled = true,
           .scaled_to = layout.scaled.back(),
           .left = column * side,
           .top = row * side});
  whole.before = "<|img_thumbnail|>";
  layout.tiles.push_back(std::move(whole));
  return layout;
}

/// A picture whose longer side is at most `longest`, rounded up to whole tokens.
PictureLayout rounded_up(PictureSize size, const PictureGeometry& geometry, int longest) {
  const double ratio = std::max(static_cast<double>(size.height) / longest, static_cast<double>(size.width) / longest);
  const auto tokens = [&](int side) {
    const int scaled = ratio > 1 ? static_cast<int>(std::floor(side / ratio)) : side;
    return std::max((scaled + geometry.token_side() - 1) / geometry.token_side(), 1);
  };
  return one_tile(tokens(size.height), tokens(size.width), geometry);
}

/// The same with the longest side of the file; where that is more tokens than are wanted, less by a token at a time.
PictureLayout within_longest_side(PictureSize size, const PictureGeometry& geometry, TokenRange tokens) {
  for (int longest = geometry.longest_side;; longest -= geometry.token_side()) {
    PictureLayout layout = rounded_up(size, geometry, std::max(longest, geometry.token_side()));
    if (layout.num_tokens() <= tokens.max || longest <= geometry.token_side()) return layout;
  }
}

/// A picture of the file's size, whatever is wanted.
PictureLayout of_one_size(PictureSize /*size*/, const PictureGeometry& geometry, TokenRange /*tokens*/) {
  const int side = geometry.tile_side / geometry.token_side();
  return one_tile(side, side, geometry);
}

constexpr std::string_view kGemma3[] = {"gemma3"};
constexpr std::string_view kGemma4[] = {"gemma4"};
constexpr std::string_view kSmolVlm[] = {"llama"};
constexpr std::string_view kLfm2[] = {"lfm2", "lfm2moe"};
constexpr std::string_view kPixtral[] = {"llama", "mistral3"};

constexpr std::string_view kQwen2Vl[] = {"qwen2vl"};
constexpr std::string_view kMiniCpm[] = {"qwen35"};
constexpr std::string_view kMuseGlimmer[] = {"muse-glimmer"};

constexpr std::array<float, 3> kHalf = {0.5F, 0.5F, 0.5F};
constexpr std::array<float, 3> kClipMean = {0.48145466F, 0.4578275F, 0.40821073F};
constexpr std::array<float, 3> kClipDeviation = {0.26862954F, 0.26130258F, 0.27577711F};

constexpr PictureMarkup kQwenMarkup = {.place = "<|vision_start|><|image_pad|><|vision_end|>",
                                       .placeholder = "<|image_pad|>"};

constexpr PictureMarkup kGemma4Markup = {
    .place = "<|image|>", .placeholder = "<|image|>", .begin = "<|image>", .end = "<image|>"};

constexpr PictureFamily kFamilies[] = {
    {.name = "qwen3vl_merger",
     .filter = ResizeFilter::kBicubic,
     .mean = kHalf,
     .deviation = kHalf,
     .min_tokens = 64,
     .usual_max_tokens = 1280,
     .most_tokens = 4096,
     .markup = kQwenMarkup,
     .layout = nearest_multiples},
    {.name = "gemma3",
     .text_models = kGemma3,
     .filter = ResizeFilter::kBilinear,
     .mean = kHalf,
     .deviation = kHalf,
     .min_tokens = 4096,  // as many as the file makes of one
     .usual_max_tokens = 4096,
     .most_tokens = 4096,
     .markup = {.place = "<start_of_image>",
                .placeholder = "<start_of_image>",
                .spelled = "\n\n<start_of_image><end_of_image>\n\n",
                .row = "<image_soft_token>",
                .begin = "<start_of_image>"},
     .layout = of_one_size},
    {.name = "gemma4v",
     .text_models = kGemma4,
     .filter = ResizeFilter::kBicubic,
     .deviation = {1, 1, 1},
     .min_tokens = 1,
     .usual_max_tokens = 280,
     .most_tokens = 1120,
     .markup = kGemma4Markup,
     .layout = within_budget},
    {.name = "gemma4uv",
     .text_models = kGemma4,
     .filter = ResizeFilter::kBicubic,
     .deviation = {1, 1, 1},
     .min_tokens = 1,
     .usual_max_tokens = 280,
     .most_tokens = 1120,
     .markup = kGemma4Markup,
     .layout = within_budget},
    {.name = "idefics3",
     .text_models = kSmolVlm,
     .filter = ResizeFilter::kLanczos,
     .mean = kHalf,
     .deviation = kHalf,
     .min_tokens = 1,
     .usual_max_tokens = 4096,
     .most_tokens = 4096,
     .markup = {.place = "<image>", .placeholder = "<image>"},
     .layout = tiles_and_overview},
    {.name = "lfm2",
     .text_models = kLfm2,
     .filter = ResizeFilter::kBilinear,
     .mean = kHalf,
     .deviation = kHalf,
     .min_tokens = 64,
     .usual_max_tokens = 2816,
     .most_tokens = 2816,
     .markup = {.place = "<image>", .placeholder = "<image>", .begin = "<|image_start|>", .end = "<|image_end|>"},
     .layout = tiles_of_large_ones},
    {.name = "pixtral",
     .text_models = kPixtral,
     .filter = ResizeFilter::kBicubic,
     .mean = kClipMean,
     .deviation = kClipDeviation,
     .min_tokens = 1,
     .usual_max_tokens = 4096,
     .most_tokens = 4096,
     .markup = {.place = "[IMG]", .placeholder = "[IMG]", .end = "[IMG_END]", .row_end = "[IMG_BREAK]"},
     .layout = within_longest_side},
    {.name = "qwen2vl_merger",
     .text_models = kQwen2Vl,
     .filter = ResizeFilter::kBicubic,
     .mean = kClipMean,
     .deviation = kClipDeviation,
     .min_tokens = 4,
     .usual_max_tokens = 1280,
     .most_tokens = 4096,
     .markup = kQwenMarkup,
     .layout = nearest_multiples},
    {.name = "qwen2.5vl_merger",
     .text_models = kQwen2Vl,
     .filter = ResizeFilter::kBicubic,
     .mean = kClipMean,
     .deviation = kClipDeviation,
     .min_tokens = 4,
     .usual_max_tokens = 1280,
     .most_tokens = 4096,
     .markup = kQwenMarkup,
     .layout = nearest_multiples},
    {.name = "minicpmv4_6",
     .text_models = kMiniCpm,
     .turns_by_grid = false,
     .filter = ResizeFilter::kBicubic,
     .mean = kHalf,
     .deviation = kHalf,
     .min_tokens = 1,
     .usual_max_tokens = 4096,
     .most_tokens = 4096,
     .markup = {.place = "<|image_pad|>",
                .placeholder = "<|image_pad|>",
                .number_begin = "<image_id>",
                .number_end = "</image_id>"},
     .layout = overview_and_slices},
    {.name = "muse-glimmer",
     .text_models = kMuseGlimmer,
     .filter = ResizeFilter::kLanczos,
     .mean = kHalf,
     .deviation = kHalf,
     .min_tokens = 1,
     .usual_max_tokens = 4096,
     .most_tokens = 4096,
     .markup = {.place = "<|patch|>", .placeholder = "<|patch|>", .begin = "<|image_start|>", .end = "<|image_end|>"},
     .layout = nearest_aspect},
};

}  // namespace

int PictureLayout::num_tokens() const {
  return std::accumulate(tiles.begin(), tiles.end(), 0,
                         [](int sum, const PictureTile& tile) { return sum + tile.num_tokens(); });
}

PictureLayout one_tile(int rows, int columns, const PictureGeometry& geometry) {
  const int side = geometry.token_side();
  PictureLayout layout;
  layout.tiles.push_back({.size = {columns * side, rows * side}, .rows = rows, .columns = columns});
  return layout;
}

std::vector<Picture> make_tiles(const Picture& picture, const PictureLayout& layout, ResizeFilter filter) {
  Picture scaled;
  for (const PictureSize size : layout.scaled) scaled = resize(scaled.rgb.empty() ? picture : scaled, size, filter);
  std::vector<Picture> made;
  for (const PictureTile& tile : layout.tiles) {
    const Picture& source = tile.of_scaled ? scaled : picture;
    const PictureSize size = tile.scaled_to.pixels() == 0 ? tile.size : tile.scaled_to;
    if (size == source.size) {
      made.push_back(cut(source, {tile.left, tile.top}, tile.size));
    } else if (size == tile.size) {
      made.push_back(resize(source, size, filter));
    } else {
      made.push_back(cut(resize(source, size, filter), {tile.left, tile.top}, tile.size));
    }
  }
  return made;
}

PictureLayout PictureFamily::lay_out(PictureSize size, const PictureGeometry& geometry, TokenRange tokens) const {
  PictureLayout made = layout(size, geometry, tokens);
  made.tiles.front().before.insert(0, markup.begin);
  made.after += markup.end;
  made.row_end = markup.row_end;
  return made;
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
