// The families of vision encoders: how each prepares a picture, and how many tokens that is. A row of a table each.
//
// A picture becomes tiles, each of which the encoder sees by itself. A tile is the picture in another size, or a part
// of it, and a grid of tokens lies over it. Sizes and tokens follow from the size of the picture alone, so that nothing
// has to be decoded to count them.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "vision/picture.h"
#include "vision/resize.h"

namespace octavo {

/// Sizes from an encoder's file.
struct PictureGeometry {
  int patch_side = 16;   // the side of a patch in pixels
  int merge_side = 2;    // the number of patches along each side of one token
  int tile_side = 0;     // the side of a tile in pixels, of families that cut pictures into tiles of the file's size
  int longest_side = 0;  // the longest side of a picture in pixels, where the file bounds it

  int token_side() const { return patch_side * merge_side; }  // the side of a token in pixels
};

/// How many tokens a picture should be: a wish, which a very long picture may miss by a few.
struct TokenRange {
  int min = 1, max = 1;
};

/// What the encoder sees at once: a part of the picture in another size, or all of it.
struct PictureTile {
  PictureSize size = {};       // what the encoder sees
  int rows = 0, columns = 0;   // the grid of tokens
  std::string before = {};     // the text in a prompt in front of its rows
  bool of_scaled = false;      // it is made of PictureLayout::scaled, otherwise of the picture
  PictureSize scaled_to = {};  // the size to which that is scaled first; without pixels: `size`
  int left = 0, top = 0;       // the tile's place in what is scaled

  int num_tokens() const { return rows * columns; }
};

struct PictureLayout {
  std::vector<PictureTile> tiles = {};
  std::string row_end = {};              // the text in a prompt between two rows of a tile's tokens
  std::string after = {};                // the text behind the last tile's rows
  std::vector<PictureSize> scaled = {};  // the sizes to which the picture is scaled, one after another, for some tiles

  int num_tokens() const;
  /// The size at which most of the picture is seen.
  PictureSize seen() const { return scaled.empty() ? tiles.front().size : scaled.back(); }
};

/// The tile of a picture that is scaled as a whole.
PictureLayout one_tile(int rows, int columns, const PictureGeometry& geometry);
/// The pixels of a layout's tiles.
std::vector<Picture> make_tiles(const Picture& picture, const PictureLayout& layout, ResizeFilter filter);

/// How a family's prompts name a picture. Texts, which the model's vocabulary has as tokens.
struct PictureMarkup {
  std::string_view place = {};        // what stands in a prompt for a picture, where a template writes nothing
  std::string_view placeholder = {};  // the token in it that stands for the picture's rows, once for each
  std::string_view spelled = {};      // what stands in a prompt for each placeholder of a template, which has one
                                      // itself; empty: the placeholder
  std::string_view row = {};          // the token of each row, where the vocabulary has it; empty: the placeholder
  // The texts around the rows, beside what a template writes, in place of the placeholder.
  std::string_view begin = {}, end = {};
  std::string_view row_end = {};  // between two rows of tokens
  // The texts around the picture's number in its prompt, from 0 on, in front of all; empty: it has no number there.
  std::string_view number_begin = {}, number_end = {};
};

struct PictureFamily {
  std::string_view name = {};  // the projector's type in the encoder's file
  /// The architectures of the text models that have such encoders; empty: those whose rotary positions have parts for
  /// the rows and columns of pictures.
  std::span<const std::string_view> text_models = {};
  bool turns_by_grid = true;  // where those have such parts, rows and columns turn them; otherwise as in texts
  ResizeFilter filter = ResizeFilter::kBicubic;
  // The encoder reads (pixel / 255 - mean) / deviation; its file may say other values.
  std::array<float, 3> mean = {}, deviation = {};
  int min_tokens = 1;        // small pictures are enlarged to so many
  int usual_max_tokens = 1;  // the most tokens where nobody says more
  int most_tokens = 1;       // the most tokens where a client wants every detail
  PictureMarkup markup = {};

  /// The number of tokens that a picture has by default; the bounds of the encoder's file, unless 0, go before the
  /// family's.
  TokenRange usual_tokens(TokenRange of_file) const;

  /// Gives the tiles of a picture of `size`, which has at least one pixel, and the texts between them. Where the
  /// range's max is below its min, both are the max.
  PictureLayout lay_out(PictureSize size, const PictureGeometry& geometry, TokenRange tokens) const;
  /// The same without the texts around all of it.
  PictureLayout (*layout)(PictureSize size, const PictureGeometry& geometry, TokenRange tokens) = nullptr;
};

/// All families.
std::span<const PictureFamily> picture_families();

/// The family of that name; nullptr: there is none.
const PictureFamily* find_picture_family(std::string_view name);

}  // namespace octavo
