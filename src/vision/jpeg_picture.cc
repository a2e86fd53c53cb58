#include "vision/jpeg_picture.h"

#include <algorithm>
#include <array>
#include <csetjmp>
#include <cstdio>
#include <vector>

// jpeglib.h needs std::FILE and std::size_t, which the headers above declare.
#include <jpeglib.h>
// The numbers of libjpeg's messages.
#include <jerror.h>

#include "base/to_size.h"
#include "vision/orientation.h"

namespace octavo {
namespace {

/// The first block of EXIF; empty where the file has none.
ByteView find_exif(ByteView file) {
  constexpr std::uint8_t kFill = 0xFF, kApp1 = 0xE1, kScan = 0xDA, kEnd = 0xD9;
  std::size_t place = 2;
  while (place + 4 <= file.size()) {
    if (file.at(place) != kFill || file.at(place + 1) == kFill) {
      ++place;
      continue;
    }
    const std::uint8_t marker = file.at(place + 1);
    if (marker == kScan || marker == kEnd) break;
    const std::size_t length = file.big(place + 2, 2);  // the segment's length, these two bytes included
    if (marker == kApp1 && file.has(place + 4, {"Exif\0", 5})) return file.part(place + 4, length - 2);
    const bool has_length = marker > 0x01 && (marker < 0xD0 || marker > 0xD8);
    place += 2 + (has_length ? length : 0);
  }
  return file.part(file.size());
}

/// Whether a warning means missing pixels. Others do not matter: some cameras write bytes between segments.
bool is_damage(int code) {
  return code == JWRN_JPEG_EOF || code == JWRN_HIT_MARKER || code == JWRN_HUFF_BAD_CODE ||
         code == JWRN_ARITH_BAD_CODE || code == JWRN_MUST_RESYNC;
}

/// The most scans. Each scan of a progressive JPEG may visit the whole picture, so a few bytes could take long.
constexpr int kMaxScans = 100;
constexpr std::int64_t kMaxScannedPixels = std::int64_t{1} << 30;
constexpr int kLeastScans = 16;  // the least number of scans that is allowed, also for the largest picture

int max_scans(PictureSize size) {
  const std::int64_t by_size = kMaxScannedPixels / std::max(size.pixels(), std::int64_t{1});
  return static_cast<int>(std::clamp(by_size, std::int64_t{kLeastScans}, std::int64_t{kMaxScans}));
}

std::uint8_t product(int a, int b) { return static_cast<std::uint8_t>((a * b + 127) / 255); }

/// Runs libjpeg on a file. libjpeg leaves a call that cannot go on by longjmp(), so a function that calls it makes no
/// object that has a destructor: all of them are members here.
class JpegReader {
 public:
  explicit JpegReader(ByteView file);
  JpegReader(const JpegReader&) = delete;
  JpegReader& operator=(const JpegReader&) = delete;
  ~JpegReader() { jpeg_destroy_decompress(&jpeg_); }

  /// Reads what stands before the pixels. False: message() says why not.
  bool begin();
  PictureSize size() const { return {static_cast<int>(jpeg_.image_width), static_cast<int>(jpeg_.image_height)}; }
  std::size_t decode_bytes();

  /// Begins to decode with at most `max_bytes` of memory beside the pixels.
  bool begin_pixels(std::size_t max_bytes);
  bool has_ink() const { return jpeg_.out_color_space == JCS_CMYK; }
  /// Reads the next row: three channels, or the four inks of CMYK.
  bool read_row(std::uint8_t* to);

  const char* message() const { return message_.data(); }

 private:
  [[noreturn]] static void fail(j_common_ptr jpeg);
  static void warn(j_common_ptr jpeg, int level);
  static void count_scans(j_common_ptr jpeg);

  ByteView file_;
  jpeg_decompress_struct jpeg_ = {};
  jpeg_error_mgr errors_ = {};
  jpeg_progress_mgr progress_ = {};
  std::jmp_buf jump_ = {};
  std::array<char, JMSG_LENGTH_MAX> message_ = {};
};

JpegReader::JpegReader(ByteView file) : file_(file) {
  jpeg_.err = jpeg_std_error(&errors_);
  errors_.error_exit = fail;
  errors_.emit_message = warn;
  errors_.output_message = [](j_common_ptr) {};
  jpeg_.client_data = this;
}

void JpegReader::fail(j_common_ptr jpeg) {
  JpegReader& reader = *static_cast<JpegReader*>(jpeg->client_data);
  if (reader.message_[0] == '\0') reader.errors_.format_message(jpeg, reader.message_.data());
  std::longjmp(reader.jump_, 1);  // NOLINT(modernize-avoid-setjmp-longjmp): what libjpeg asks of this function
}

void JpegReader::warn(j_common_ptr jpeg, int level) {
  if (level < 0 && is_damage(jpeg->err->msg_code)) fail(jpeg);
}

void JpegReader::count_scans(j_common_ptr jpeg) {
  JpegReader& reader = *static_cast<JpegReader*>(jpeg->client_data);
  const int max = max_scans(reader.size());
  if (reader.jpeg_.input_scan_number <= max) return;
  const auto end = fmt::format_to_n(reader.message_.data(), reader.message_.size() - 1,
                                    "a picture of its size may have at most {} scans", max);
  *end.out = '\0';
  fail(jpeg);
}

bool JpegReader::begin() {
  if (setjmp(jump_) != 0) return false;
  jpeg_create_decompress(&jpeg_);
  jpeg_.client_data = this;
  jpeg_mem_src(&jpeg_, file_.data(), file_.size());
  jpeg_read_header(&jpeg_, TRUE);
  return true;
}

std::size_t JpegReader::decode_bytes() {
  std::size_t bytes = rgb_bytes(size());
  if (!jpeg_has_multiple_scans(&jpeg_)) return bytes;
  // The memory of the whole picture's coefficients, in blocks of 64.
  const auto whole = [](std::size_t blocks, int factor) {
    return (blocks + to_size(factor) - 1) / to_size(factor) * to_size(factor);
  };
  for (const jpeg_component_info& part : std::span(jpeg_.comp_info, to_size(jpeg_.num_components)))
    bytes += whole(part.width_in_blocks, part.h_samp_factor) * whole(part.height_in_blocks, part.v_samp_factor) *
             sizeof(JBLOCK);
  return bytes;
}

bool JpegReader::begin_pixels(std::size_t max_bytes) {
  if (setjmp(jump_) != 0) return false;
  const bool has_ink = jpeg_.jpeg_color_space == JCS_CMYK || jpeg_.jpeg_color_space == JCS_YCCK;
  jpeg_.out_color_space = has_ink ? JCS_CMYK : JCS_RGB;
  jpeg_.dct_method = JDCT_ISLOW;  // with this and fancy upsampling, the bits do not depend on SIMD
  jpeg_.do_fancy_upsampling = TRUE;
  jpeg_.mem->max_memory_to_use = static_cast<long>(max_bytes);
  progress_.progress_monitor = count_scans;
  jpeg_.progress = &progress_;
  jpeg_start_decompress(&jpeg_);
  return true;
}

bool JpegReader::read_row(std::uint8_t* to) {
  if (setjmp(jump_) != 0) return false;
  JSAMPROW row = to;
  jpeg_read_scanlines(&jpeg_, &row, 1);
  return true;
}

std::unexpected<Error> unread(const JpegReader& reader) {
  return damaged("the JPEG cannot be read: {}", reader.message());
}

/// Turns a row of four inks (CMYK) into RGB. They are stored inverted as Adobe's programs do, so 255 means no ink.
void add_light(std::span<const std::uint8_t> inks, std::uint8_t* rgb) {
  for (; !inks.empty(); inks = inks.subspan(4), rgb += 3)
    for (std::size_t channel = 0; channel < 3; ++channel) rgb[channel] = product(inks[channel], inks[3]);
}

}  // namespace

Result<StoredPicture> read_jpeg_header(ByteView file) {
  JpegReader reader(file);
  if (!reader.begin()) return unread(reader);
  return StoredPicture{.size = reader.size(), .orientation = exif_orientation(find_exif(file))};
}

Result<std::size_t> jpeg_decode_bytes(ByteView file, const StoredPicture&) {
  JpegReader reader(file);
  if (!reader.begin()) return unread(reader);
  return reader.decode_bytes();
}

Result<Picture> decode_jpeg(ByteView file, const StoredPicture& header) {
  constexpr std::size_t kRowsAndTables = std::size_t{8} << 20;
  JpegReader reader(file);
  if (!reader.begin() || !reader.begin_pixels(reader.decode_bytes() + kRowsAndTables)) return unread(reader);
  Picture picture = {.size = header.size, .rgb = std::vector<std::uint8_t>(rgb_bytes(header.size))};
  const std::size_t width = to_size(header.size.width);
  std::vector<std::uint8_t> inks(reader.has_ink() ? width * 4 : 0);
  for (int y = 0; y < header.size.height; ++y) {
    std::uint8_t* row = &picture.rgb[to_size(y) * width * 3];
    if (!reader.read_row(inks.empty() ? row : inks.data())) return unread(reader);
    if (!inks.empty()) add_light(inks, row);
  }
  return picture;
}

}  // namespace octavo
