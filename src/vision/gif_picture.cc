#include "vision/gif_picture.h"

#include <gif_lib.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "base/to_size.h"

namespace octavo {
namespace {

/// The place of a frame on the canvas.
struct Frame {
  int left, top;
  PictureSize size;
};

constexpr std::uint8_t kExtension = 0x21, kImage = 0x2C;

/// The place after the colours that follow a byte of flags.
std::size_t skip_colors(std::size_t place, std::uint8_t flags) {
  return (flags & 0x80) == 0 ? place : place + (std::size_t{6} << (flags & 7));
}

/// The place of the first frame's descriptor, after the extensions; the file's size where the file has no frame.
std::size_t find_frame(ByteView file) {
  std::size_t place = skip_colors(13, file.at(10));
  while (file.at(place) == kExtension) {
    place += 2;
    while (const std::size_t block = file.at(place)) place += 1 + block;
    ++place;
  }
  return file.at(place) == kImage ? place : file.size();
}

/// The canvas's size: a frame may be larger than the screen that the file names, and then the canvas is as large.
PictureSize canvas_of(PictureSize screen, const Frame& frame) {
  return {std::max(screen.width, frame.left + frame.size.width),
          std::max(screen.height, frame.top + frame.size.height)};
}

/// The bytes of the file that giflib has not read yet.
struct Input {
  ByteView rest;
};

int read_input(GifFileType* gif, GifByteType* to, int length) {
  Input& input = *static_cast<Input*>(gif->UserData);
  const ByteView piece = input.rest.part(0, to_size(std::max(length, 0)));
  std::copy_n(piece.data(), piece.size(), to);
  input.rest = input.rest.part(piece.size());
  return static_cast<int>(piece.size());
}

struct Closer {
  void operator()(GifFileType* gif) const { DGifCloseFile(gif, nullptr); }
};
using Gif = std::unique_ptr<GifFileType, Closer>;

std::unexpected<Error> damaged_gif(int error) {
  const char* reason = GifErrorString(error);
  return damaged("the GIF is damaged: {}", reason == nullptr ? "no reason known" : reason);
}

/// Reads an extension to its end. One for graphics sets `transparent` to the index of its transparent colour.
bool read_extension(GifFileType* gif, int& transparent) {
  int code = 0;
  GifByteType* block = nullptr;
  if (DGifGetExtension(gif, &code, &block) == GIF_ERROR) return false;
  GraphicsControlBlock graphics = {};
  if (code == GRAPHICS_EXT_FUNC_CODE && block != nullptr &&
      DGifExtensionToGCB(block[0], block + 1, &graphics) == GIF_OK)
    transparent = graphics.TransparentColor;
  while (block != nullptr)
    if (DGifGetExtensionNext(gif, &block) == GIF_ERROR) return false;
  return true;
}

/// Goes to the pixels of the first frame.
Result<Frame> begin_frame(GifFileType* gif, int& transparent) {
  while (true) {
    GifRecordType type = UNDEFINED_RECORD_TYPE;
    if (DGifGetRecordType(gif, &type) == GIF_ERROR) return damaged_gif(gif->Error);
    if (type == EXTENSION_RECORD_TYPE) {
      if (!read_extension(gif, transparent)) return damaged_gif(gif->Error);
    } else if (type == IMAGE_DESC_RECORD_TYPE) {
      if (DGifGetImageDesc(gif) == GIF_ERROR) return damaged_gif(gif->Error);
      return Frame{.left = gif->Image.Left, .top = gif->Image.Top, .size = {gif->Image.Width, gif->Image.Height}};
    } else {
      return damaged("the GIF has no frame");
    }
  }
}

/// The rows of a frame in the order in which they are stored.
std::vector<int> row_order(int height, bool is_interlaced) {
  constexpr struct {
    int first, step;
  } kPasses[] = {{0, 8}, {4, 8}, {2, 4}, {1, 2}};
  std::vector<int> rows;
  rows.reserve(to_size(height));
  if (is_interlaced) {
    for (const auto [first, step] : kPasses)
      for (int row = first; row < height; row += step) rows.push_back(row);
  } else {
    for (int row = 0; row < height; ++row) rows.push_back(row);
  }
  return rows;
}

void draw_row(Picture& canvas, const Frame& frame, int row, std::span<const GifPixelType> indexes,
              const ColorMapObject& colors, int transparent) {
  const std::size_t first = to_size(frame.top + row) * to_size(canvas.size.width) + to_size(frame.left);
  std::uint8_t* to = &canvas.rgb[first * 3];
  for (const GifPixelType index : indexes) {
    const GifColorType color = index < colors.ColorCount ? colors.Colors[index] : GifColorType{};
    if (index != transparent) {
      to[0] = color.Red;
      to[1] = color.Green;
      to[2] = color.Blue;
    }
    to += 3;
  }
}

}  // namespace

Result<StoredPicture> read_gif_header(ByteView file) {
  const std::size_t place = find_frame(file);
  if (place == file.size()) return damaged("the GIF is damaged: it ends before its first frame");
  const auto number = [&](std::size_t at) { return static_cast<int>(file.little(at, 2)); };
  const Frame frame = {
      .left = number(place + 1), .top = number(place + 3), .size = {number(place + 5), number(place + 7)}};
  const PictureSize canvas = canvas_of({number(6), number(8)}, frame);
  return StoredPicture{.size = canvas};
}

Result<std::size_t> gif_decode_bytes(ByteView, const StoredPicture& header) { return rgb_bytes(header.size); }

Result<Picture> decode_gif(ByteView file, const StoredPicture& header) {
  Input input = {.rest = file};
  int error = 0;
  const Gif gif(DGifOpen(&input, read_input, &error));
  if (gif == nullptr) return damaged_gif(error);
  int transparent = NO_TRANSPARENT_COLOR;
  OCTAVO_TRY(const Frame frame, begin_frame(gif.get(), transparent));
  if (canvas_of({gif->SWidth, gif->SHeight}, frame) != header.size)
    return damaged("the GIF is damaged: its size is said in two ways");
  const ColorMapObject* colors = gif->Image.ColorMap != nullptr ? gif->Image.ColorMap : gif->SColorMap;
  if (colors == nullptr) return damaged("the GIF is damaged: it has no colours");
  Picture canvas = {.size = header.size, .rgb = std::vector<std::uint8_t>(rgb_bytes(header.size), 255)};
  std::vector<GifPixelType> indexes(to_size(frame.size.width));
  if (indexes.empty()) return canvas;
  for (const int row : row_order(frame.size.height, gif->Image.Interlace)) {
    if (DGifGetLine(gif.get(), indexes.data(), frame.size.width) == GIF_ERROR) return damaged_gif(gif->Error);
    draw_row(canvas, frame, row, indexes, *colors, transparent);
  }
  return canvas;
}

}  // namespace octavo
