#include "vision/webp_picture.h"

#include <webp/decode.h>

#include <algorithm>
#include <new>
#include <vector>

#include "base/to_size.h"
#include "vision/orientation.h"
#include "vision/webp_tables.h"

namespace octavo {
namespace {

constexpr std::size_t kFirstChunk = 12, kChunkHead = 8;

/// The picture of a file, or an animation's first one: what libwebp decodes, and its place on the canvas.
struct Frame {
  ByteView bytes;
  std::size_t first_chunk = kFirstChunk;
  int left = 0, top = 0;
  PictureSize size = {};
  bool has_alpha = false;
  bool is_lossless = false;
};

struct File {
  PictureSize canvas;
  Frame frame;
  int orientation = 1;
};

std::unexpected<Error> damaged_webp(VP8StatusCode status) {
  switch (status) {
    case VP8_STATUS_NOT_ENOUGH_DATA: return damaged("the WebP is damaged: it ends too early");
    case VP8_STATUS_UNSUPPORTED_FEATURE: return damaged("the WebP cannot be read: it has a feature that is not known");
    case VP8_STATUS_OUT_OF_MEMORY: throw std::bad_alloc();
    default: return damaged("the WebP is damaged");
  }
}

Result<WebPBitstreamFeatures> features_of(ByteView bytes) {
  WebPBitstreamFeatures features = {};
  const VP8StatusCode status = WebPGetFeatures(bytes.data(), bytes.size(), &features);
  if (status != VP8_STATUS_OK) return damaged_webp(status);
  return features;
}

/// Walks over the chunks of a file or of a frame, one after another.
class ChunkWalk {
 public:
  ChunkWalk(ByteView bytes, std::size_t first) : bytes_(bytes), place_(first) {}

  bool is_at_end() const { return place_ >= bytes_.size() || bytes_.size() - place_ < kChunkHead; }
  bool is(std::string_view name) const { return bytes_.has(place_, name); }
  ByteView contents() const { return bytes_.part(place_ + kChunkHead, size()); }
  void next() { place_ += kChunkHead + size() + size() % 2; }

 private:
  std::size_t size() const { return bytes_.little(place_ + 4, 4); }

  ByteView bytes_;
  std::size_t place_;
};

/// The contents of the first chunk of a name; empty where there is none.
ByteView find_chunk(ByteView file, std::string_view name) {
  for (ChunkWalk chunk(file, kFirstChunk); !chunk.is_at_end(); chunk.next())
    if (chunk.is(name)) return chunk.contents();
  return file.part(file.size());
}

Frame frame_of(ByteView bytes, const WebPBitstreamFeatures& features) {
  constexpr int kLossy = 1;
  return {.bytes = bytes,
          .size = {features.width, features.height},
          .has_alpha = features.has_alpha != 0,
          .is_lossless = features.format != kLossy};
}

/// The first frame of an animation; libwebp decodes its contents as it does a file's.
Result<Frame> first_frame(ByteView file) {
  const ByteView chunk = find_chunk(file, "ANMF"), bytes = chunk.part(16);
  OCTAVO_TRY(const WebPBitstreamFeatures features, features_of(bytes));
  Frame frame = frame_of(bytes, features);
  frame.first_chunk = 0;
  frame.left = static_cast<int>(chunk.little(0, 3)) * 2;
  frame.top = static_cast<int>(chunk.little(3, 3)) * 2;
  return frame;
}

Result<File> open_webp(ByteView bytes) {
  OCTAVO_TRY(const WebPBitstreamFeatures features, features_of(bytes));
  File file = {.canvas = {features.width, features.height},
               .frame = frame_of(bytes, features),
               .orientation = exif_orientation(find_chunk(bytes, "EXIF"))};
  if (features.has_animation == 0) return file;
  OCTAVO_TRY(file.frame, first_frame(bytes));
  const Frame& frame = file.frame;
  if (frame.left + frame.size.width > file.canvas.width || frame.top + frame.size.height > file.canvas.height)
    return damaged("the WebP is damaged: its first frame is beyond its canvas");
  return file;
}

bool is_plain(const File& file) { return file.frame.size == file.canvas && !file.frame.has_alpha; }

/// Whether a file or a frame begins as it should: libwebp would also read pixels without a chunk, and a file inside a
/// frame.
bool begins_well(const Frame& frame) {
  const ChunkWalk chunk(frame.bytes, frame.first_chunk);
  return chunk.is("VP8 ") || chunk.is("VP8L") || chunk.is(frame.first_chunk == 0 ? "ALPH" : "VP8X");
}

/// The memory that the tables of a frame's prefix codes take, in bytes.
Result<std::size_t> table_bytes(const Frame& frame) {
  if (!begins_well(frame)) return damaged("the WebP is damaged: it does not begin as one");
  std::size_t bytes = 0;
  for (ChunkWalk chunk(frame.bytes, frame.first_chunk); !chunk.is_at_end(); chunk.next()) {
    const bool is_lossless = chunk.is("VP8L"), is_alpha = chunk.is("ALPH");
    if (chunk.is("VP8 ")) return bytes;
    if (is_lossless || is_alpha) {
      const auto tables =
          is_alpha ? alpha_table_bytes(chunk.contents(), frame.size) : lossless_table_bytes(chunk.contents());
      if (!tables) break;
      bytes = std::max(bytes, *tables);
      if (is_lossless) return bytes;
    }
  }
  return damaged("the WebP is damaged");
}

/// The memory that libwebp takes for pixels: lossless ones, and the transparency beside lossy ones, are decoded whole.
std::size_t pixel_bytes(const File& file) {
  const std::size_t pixels = to_size(file.frame.size.pixels());
  const std::size_t own = file.frame.is_lossless ? 4 * pixels : file.frame.has_alpha ? 5 * pixels : 0;
  if (is_plain(file)) return own + rgb_bytes(file.canvas);
  return 4 * pixels + std::max(own, rgb_bytes(file.canvas));
}

Result<std::vector<std::uint8_t>> decode_frame(const Frame& frame, WEBP_CSP_MODE mode, int channels) {
  WebPDecoderConfig config;
  OCTAVO_CHECK(WebPInitDecoderConfig(&config) != 0, "libwebp is of another version than its headers");
  std::vector<std::uint8_t> values(to_size(frame.size.pixels()) * to_size(channels));
  config.output.colorspace = mode;
  config.output.is_external_memory = 1;
  config.output.u.RGBA = {.rgba = values.data(), .stride = frame.size.width * channels, .size = values.size()};
  const VP8StatusCode status = WebPDecode(frame.bytes.data(), frame.bytes.size(), &config);
  WebPFreeDecBuffer(&config.output);
  if (status != VP8_STATUS_OK) return damaged_webp(status);
  return values;
}

}  // namespace

Result<StoredPicture> read_webp_header(ByteView bytes) {
  OCTAVO_TRY(const File file, open_webp(bytes));
  return StoredPicture{.size = file.canvas, .orientation = file.orientation};
}

Result<std::size_t> webp_decode_bytes(ByteView bytes, const StoredPicture&) {
  OCTAVO_TRY(const File file, open_webp(bytes));
  OCTAVO_TRY(const std::size_t tables, table_bytes(file.frame));
  return tables + pixel_bytes(file);
}

Result<Picture> decode_webp(ByteView bytes, const StoredPicture& header) {
  OCTAVO_TRY(const File file, open_webp(bytes));
  const Frame& frame = file.frame;
  if (is_plain(file)) {
    OCTAVO_TRY(std::vector<std::uint8_t> rgb, decode_frame(frame, MODE_RGB, 3));
    return Picture{.size = header.size, .rgb = std::move(rgb)};
  }
  OCTAVO_TRY(const std::vector<std::uint8_t> rgba, decode_frame(frame, MODE_RGBA, 4));
  Picture canvas = {.size = header.size, .rgb = std::vector<std::uint8_t>(rgb_bytes(header.size), 255)};
  const std::uint8_t* from = rgba.data();
  for (int row = 0; row < frame.size.height; ++row) {
    const std::size_t first = to_size(frame.top + row) * to_size(canvas.size.width) + to_size(frame.left);
    std::uint8_t* to = &canvas.rgb[first * 3];
    for (int x = 0; x < frame.size.width; ++x, from += 4, to += 3)
      for (int channel = 0; channel < 3; ++channel) to[channel] = on_white(from[channel], from[3]);
  }
  return canvas;
}

}  // namespace octavo
