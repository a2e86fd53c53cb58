#include "vision/png_picture.h"

#include <png.h>

#include <algorithm>
#include <array>
#include <csetjmp>
#include <new>
#include <string>
#include <vector>

#include "base/to_size.h"
#include "vision/orientation.h"

namespace octavo {
namespace {

constexpr std::size_t kFirstChunk = 8;

/// The contents of the first chunk of a name; empty where there is none.
ByteView find_chunk(ByteView file, std::string_view name) {
  std::size_t place = kFirstChunk;
  while (place + 12 <= file.size()) {
    const std::size_t size = file.big(place, 4);
    if (file.has(place + 4, name)) return file.part(place + 8, size);
    place += 12 + size;
  }
  return file.part(file.size());
}

/// Runs libpng on a file. libpng leaves a call that cannot go on by longjmp(), so a function that calls it makes no
/// object that has a destructor: all of them are members here.
class PngReader {
 public:
  explicit PngReader(ByteView file) : rest_(file) {}
  PngReader(const PngReader&) = delete;
  PngReader& operator=(const PngReader&) = delete;
  ~PngReader() { png_destroy_read_struct(&png_, &info_, nullptr); }

  /// Reads what stands before the pixels of a picture of that size. False: message() says why not.
  bool begin(PictureSize size);
  /// Reads the pixels into [height, width, 3].
  bool read_pixels(std::uint8_t* rgb, PictureSize size);

  const char* message() const { return message_.data(); }

 private:
  static void read(png_structp png, png_bytep to, std::size_t length);
  [[noreturn]] static void fail(png_structp png, png_const_charp message);
  static void set_limits(png_structp png, PictureSize size);
  void set_form();

  ByteView rest_;
  png_structp png_ = nullptr;
  png_infop info_ = nullptr;
  int passes_ = 1;
  std::jmp_buf jump_ = {};
  std::array<char, 128> message_ = {};
};

void PngReader::read(png_structp png, png_bytep to, std::size_t length) {
  PngReader& reader = *static_cast<PngReader*>(png_get_io_ptr(png));
  if (reader.rest_.size() < length) png_error(png, "it ends too early");
  std::copy_n(reader.rest_.data(), length, to);
  reader.rest_ = reader.rest_.part(length);
}

void PngReader::fail(png_structp png, png_const_charp message) {
  PngReader& reader = *static_cast<PngReader*>(png_get_error_ptr(png));
  const auto end = fmt::format_to_n(reader.message_.data(), reader.message_.size() - 1, "{}", message);
  *end.out = '\0';
  std::longjmp(reader.jump_, 1);  // NOLINT(modernize-avoid-setjmp-longjmp): what libpng asks of this function
}

/// Sets libpng's limits; chunks without a part in the pixels are skipped.
void PngReader::set_limits(png_structp png, PictureSize size) {
  png_set_user_limits(png, static_cast<png_uint_32>(size.width), static_cast<png_uint_32>(size.height));
  png_set_keep_unknown_chunks(png, PNG_HANDLE_CHUNK_NEVER, nullptr, -1);
  png_set_chunk_cache_max(png, 16);
  png_set_chunk_malloc_max(png, 1 << 20);
}

bool PngReader::begin(PictureSize size) {
  if (setjmp(jump_) != 0) return false;
  png_ = png_create_read_struct(PNG_LIBPNG_VER_STRING, this, fail, [](png_structp, png_const_charp) {});
  if (png_ != nullptr) info_ = png_create_info_struct(png_);
  if (info_ == nullptr) return false;
  set_limits(png_, size);
  png_set_read_fn(png_, this, read);
  png_read_info(png_, info_);
  if (png_get_image_width(png_, info_) != static_cast<png_uint_32>(size.width) ||
      png_get_image_height(png_, info_) != static_cast<png_uint_32>(size.height))
    png_error(png_, "its size is said in two ways");
  set_form();
  png_read_update_info(png_, info_);
  if (png_get_rowbytes(png_, info_) != to_size(size.width) * 3) png_error(png_, "it has an unknown form of pixels");
  return true;
}

/// Asks libpng for three channels of 8 bits, over white.
void PngReader::set_form() {
  const bool has_alpha =
      (png_get_color_type(png_, info_) & PNG_COLOR_MASK_ALPHA) != 0 || png_get_valid(png_, info_, PNG_INFO_tRNS) != 0;
  png_set_expand(png_);
  if (has_alpha) {
    // White is given in 8 bits, even where the file has 16: libpng widens it for a file that is to be narrowed.
    constexpr png_uint_16 kMost = 255;
    const png_color_16 white = {.index = 0, .red = kMost, .green = kMost, .blue = kMost, .gray = kMost};
    png_set_background_fixed(png_, &white, PNG_BACKGROUND_GAMMA_SCREEN, 0, PNG_FP_1);
  }
  png_set_scale_16(png_);
  if ((png_get_color_type(png_, info_) & PNG_COLOR_MASK_COLOR) == 0) png_set_gray_to_rgb(png_);
  passes_ = png_set_interlace_handling(png_);
}

bool PngReader::read_pixels(std::uint8_t* rgb, PictureSize size) {
  if (setjmp(jump_) != 0) return false;
  for (int pass = 0; pass < passes_; ++pass)
    for (int row = 0; row < size.height; ++row)
      png_read_row(png_, rgb + to_size(row) * to_size(size.width) * 3, nullptr);
  return true;
}

}  // namespace

Result<StoredPicture> read_png_header(ByteView file) {
  const std::uint32_t width = file.big(kFirstChunk + 8, 4), height = file.big(kFirstChunk + 12, 4);
  if (!file.has(kFirstChunk + 4, "IHDR") || file.size() < kFirstChunk + 25)
    return damaged("the PNG is damaged: it does not begin with its header");
  if (std::max(width, height) > PNG_UINT_31_MAX) return damaged("the PNG is damaged: it is {} x {}", width, height);
  const PictureSize size = {static_cast<int>(width), static_cast<int>(height)};
  return StoredPicture{.size = size, .orientation = exif_orientation(find_chunk(file, "eXIf"))};
}

Result<std::size_t> png_decode_bytes(ByteView, const StoredPicture& header) { return rgb_bytes(header.size); }

Result<Picture> decode_png(ByteView file, const StoredPicture& header) {
  PngReader reader(file);
  if (!reader.begin(header.size)) return damaged("the PNG is damaged: {}", reader.message());
  Picture picture = {.size = header.size, .rgb = std::vector<std::uint8_t>(rgb_bytes(header.size))};
  if (!reader.read_pixels(picture.rgb.data(), header.size)) return damaged("the PNG is damaged: {}", reader.message());
  return picture;
}

}  // namespace octavo
