// The families of vision encoders: how each prepares a picture, and how many tokens that is. A row of a table each.
//
// A picture becomes tiles, each of which the encoder sees by itself. A tile is the picture in another size, and a grid
// of tokens lies over it. Sizes and tokens follow from the size of the picture alone, so that nothing has to be decoded
// to count them.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "vision/picture.h"
#include "vision/resize.h"

namespace octavo {

/// Counts of an encoder's file.
struct PictureGeometry {
  int patch_side = 16;  // pixels
  int merge_side = 2;   // patches that one token joins, along a side

  int token_side() const { return patch_side * merge_side; }  // pixels
};

/// How many tokens a picture should be: a wish, which a very long picture may miss by a few.
struct TokenRange {
  int min = 1, max = 1;
};

struct PictureTile {
  PictureSize size = {};      // to which the picture is stretched
  int rows = 0, columns = 0;  // of tokens

  int num_tokens() const { return rows * columns; }
};

struct PictureLayout {
  std::vector<PictureTile> tiles = {};

  int num_tokens() const;
};

/// How a family's prompts name a picture. Texts, which the model's vocabulary has as tokens.
struct PictureMarkup {
  std::string_view place = {};        // what stands in a prompt for a picture, where a template writes nothing
  std::string_view placeholder = {};  // the token in it that stands for the picture's rows, once for each
};

struct PictureFamily {
  std::string_view name = {};  // the projector's type in the encoder's file
  ResizeFilter filter = ResizeFilter::kBicubic;
  // (pixel / 255 - mean) / deviation is what the encoder reads, where its file says no others.
  std::array<float, 3> mean = {}, deviation = {};
  int min_tokens = 1;        // to which small pictures are enlarged
  int usual_max_tokens = 1;  // where nobody says more
  int most_tokens = 1;       // where a client wants every detail
  PictureMarkup markup = {};

  /// How many tokens a picture has where nobody says it; bounds of the encoder's file, unless they are 0, go first.
  TokenRange usual_tokens(TokenRange of_file) const;

  /// The tiles of a picture of `size`, which has at least one pixel. A range whose end is below its begin is its end.
  PictureLayout (*layout)(PictureSize size, const PictureGeometry& geometry, TokenRange tokens) = nullptr;
};

/// All of them.
std::span<const PictureFamily> picture_families();

/// nullptr: there is none of that name.
const PictureFamily* find_picture_family(std::string_view name);

}  // namespace octavo
