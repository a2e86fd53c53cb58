// Pictures that somebody sends to hurt: lies, bombs and damage. Each is refused or read, within bounds.
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <cstring>
#include <string_view>

#include "vision/picture.h"
#include "vision/picture_truth.h"

namespace octavo {
namespace {

using Bytes = std::vector<std::byte>;
using std::string_view_literals::operator""sv;

Bytes bytes_of(std::string_view text) {
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

void add(Bytes& to, std::span<const std::byte> bytes) { to.insert(to.end(), bytes.begin(), bytes.end()); }

void set_big(Bytes& bytes, std::size_t place, int num_bytes, std::uint32_t number) {
  for (int i = num_bytes; i-- > 0; number >>= 8) bytes[place + to_size(i)] = std::byte(number & 255);
}

void set_little(Bytes& bytes, std::size_t place, int num_bytes, std::uint32_t number) {
  for (int i = 0; i < num_bytes; ++i, number >>= 8) bytes[place + to_size(i)] = std::byte(number & 255);
}

std::size_t find(const Bytes& bytes, std::string_view text) {
  const Bytes wanted = bytes_of(text);
  return static_cast<std::size_t>(std::ranges::search(bytes, wanted).begin() - bytes.begin());
}

/// A PNG that says a size and has the pixels of another.
Bytes png_of_size(int width, int height) {
  Bytes png = test::picture_file("rgb8.png");
  set_big(png, 16, 4, static_cast<std::uint32_t>(width));
  set_big(png, 20, 4, static_cast<std::uint32_t>(height));
  return png;
}

/// A JPEG whose first scan stands there so often.
Bytes jpeg_of_scans(int num_scans) {
  const Bytes jpeg = test::picture_file("grey-progressive.jpg");
  const std::size_t begin = find(jpeg, "\xFF\xDA"sv);
  std::size_t end = begin + 2;
  while (jpeg[end] != std::byte(0xFF) || jpeg[end + 1] == std::byte(0)) ++end;
  Bytes made(jpeg.begin(), jpeg.begin() + static_cast<std::ptrdiff_t>(begin));
  for (int i = 0; i < num_scans; ++i) add(made, std::span(jpeg).subspan(begin, end - begin));
  add(made, std::span(jpeg).subspan(end));
  return made;
}

/// A PNG with so many chunks before its pixels. Their sums may be wrong, as they are not read.
Bytes png_of_chunks(std::string_view chunk, int num_chunks) {
  const Bytes png = test::picture_file("rgb8.png");
  const std::size_t pixels = find(png, "IDAT") - 4;
  Bytes made(png.begin(), png.begin() + static_cast<std::ptrdiff_t>(pixels));
  for (int i = 0; i < num_chunks; ++i) add(made, bytes_of(chunk));
  add(made, std::span(png).subspan(pixels));
  return made;
}

/// An animation whose first frame comes so often.
Bytes webp_of_frames(int num_frames) {
  const Bytes webp = test::picture_file("animated.webp");
  const std::size_t begin = find(webp, "ANMF"),
                    end = begin + 1 + find({webp.begin() + static_cast<std::ptrdiff_t>(begin) + 1, webp.end()}, "ANMF");
  Bytes made(webp.begin(), webp.begin() + static_cast<std::ptrdiff_t>(end));
  for (int i = 1; i < num_frames; ++i) add(made, std::span(webp).subspan(begin, end - begin));
  set_little(made, 4, 4, static_cast<std::uint32_t>(made.size() - 8));
  return made;
}

Bytes gif_of_extensions(int num_extensions) {
  const Bytes gif = test::picture_file("plain.gif");
  const std::size_t frame = find(gif, ",\0\0\0\0\x17\0\x11\0"sv);
  Bytes made(gif.begin(), gif.begin() + static_cast<std::ptrdiff_t>(frame));
  for (int i = 0; i < num_extensions; ++i) add(made, bytes_of("\x21\xFE\1a\0"sv));
  add(made, std::span(gif).subspan(frame));
  return made;
}

std::vector<std::string> all_names() {
  std::vector<std::string> names;
  for (const auto& row : test::truth_rows("pictures.tsv")) names.push_back(row[0]);
  return names;
}

void expect_refused(const Bytes& bytes, ErrorKind kind, const std::vector<std::string>& words,
                    const PictureLimits& limits = {}) {
  const auto header = read_picture_header(bytes, limits);
  const auto picture = decode_picture(bytes, limits);
  ASSERT_FALSE(header);
  ASSERT_FALSE(picture);
  EXPECT_EQ(header.error().message, picture.error().message);
  EXPECT_EQ(header.error().kind, kind) << header.error().message;
  for (const std::string& word : words)
    EXPECT_NE(header.error().message.find(word), std::string::npos) << header.error().message;
}

TEST(HostilePicture, IsRefusedByTheNameOfItsFormatWithAWayOut) {
  const std::pair<std::string_view, const char*> kFormats[] = {{"\0\0\0\x18"
                                                                "ftypheic\0\0\0\0mif1heic"sv,
                                                                "HEIC"},
                                                               {"\0\0\0\x18"
                                                                "ftypmif1\0\0\0\0mif1avif"sv,
                                                                "AVIF"},
                                                               {"\0\0\0\x18"
                                                                "ftypavif\0\0\0\0avifmif1"sv,
                                                                "AVIF"},
                                                               {"II*\0\x08\0\0\0"sv, "TIFF"},
                                                               {"MM\0*\0\0\0\x08"sv, "TIFF"},
                                                               {"<?xml version=\"1.0\"?>\n<svg width=\"9\"/>"sv, "SVG"},
                                                               {"\xEF\xBB\xBF <SVG width=\"9\"/>"sv, "SVG"},
                                                               {"%PDF-1.7\n"sv, "PDF"},
                                                               {"BM\x36\x03\0\0\0\0\0\0"sv, "BMP"}};
  for (const auto& [bytes, name] : kFormats)
    expect_refused(bytes_of(bytes), ErrorKind::kInvalidPicture, {name, "JPEG, PNG, WebP and GIF", "PNG"});
}

TEST(HostilePicture, IsRefusedWhereItIsNone) {
  expect_refused({}, ErrorKind::kInvalidPicture, {"no bytes"});
  expect_refused(bytes_of("hello"), ErrorKind::kInvalidPicture, {"68 65 6C 6C 6F"});
  expect_refused(bytes_of("<!DOCTYPE html><html>"), ErrorKind::kInvalidPicture, {"web page"});
  expect_refused(bytes_of("\xFF\xD8\xFF"), ErrorKind::kInvalidPicture, {"JPEG"});
  expect_refused(bytes_of("GIF89a"), ErrorKind::kInvalidPicture, {"GIF"});
  expect_refused(bytes_of("RIFF\x04\0\0\0WEBP"sv), ErrorKind::kInvalidPicture, {"WebP"});
  expect_refused(bytes_of("\x89PNG\r\n\x1A\n"), ErrorKind::kInvalidPicture, {"PNG"});
}

TEST(HostilePicture, IsRefusedBeyondALimitWithBothNumbers) {
  constexpr auto kKind = ErrorKind::kPictureTooLarge;
  expect_refused(Bytes(21 << 20), kKind, {"22020096", "20971520"});
  expect_refused(png_of_size(16385, 16384), kKind, {"16385 x 16384", "16384"});
  expect_refused(png_of_size(65500, 1), kKind, {"65500 x 1", "16384"});
  expect_refused(png_of_size(201, 1), kKind, {"201 x 1", "200"});
  expect_refused(png_of_size(1, 201), kKind, {"1 x 201", "200"});
  expect_refused(png_of_size(8192, 8193), kKind, {"67117056", "67108864"});
  expect_refused(png_of_size(20000, 20000), kKind, {"20000 x 20000"});
  expect_refused(png_of_size(0, 5), ErrorKind::kInvalidPicture, {"0 x 5"});
  expect_refused(png_of_size(-1, 5), ErrorKind::kInvalidPicture, {"4294967295 x 5"});
  expect_refused(test::picture_file("rgb8.png"), kKind, {"1173", "1000"}, {.decode_bytes = 1000});
  EXPECT_TRUE(decode_picture(test::picture_file("rgb8.png"), {.decode_bytes = 1173}));
}

TEST(HostilePicture, IsMeasuredAsItLiesUpright) {
  const Bytes png = test::picture_file("turned-6.png");
  const auto header = read_picture_header(png);
  ASSERT_TRUE(header);
  EXPECT_EQ(header->size, (PictureSize{23, 17}));
  EXPECT_EQ(header->decode_bytes, std::size_t{2} * 23 * 17 * 3);  // what is stored, and what is upright
}

TEST(HostilePicture, MayNotHaveEndlessScans) {
  EXPECT_TRUE(decode_picture(jpeg_of_scans(90)));
  const auto picture = decode_picture(jpeg_of_scans(10'000));
  ASSERT_FALSE(picture);
  EXPECT_EQ(picture.error().kind, ErrorKind::kInvalidPicture);
  EXPECT_NE(picture.error().message.find("at most 100 scans"), std::string::npos) << picture.error().message;
}

TEST(HostilePicture, IsReadWhateverElseItsFileHas) {
  const std::string_view kText = "\0\0\0\3tEXta\0b\0\0\0\0"sv, kUnknown = "\0\0\0\0octv\0\0\0\0"sv;
  const auto plain = decode_picture(test::picture_file("rgb8.png"));
  for (const std::string_view chunk : {kText, kUnknown}) {
    const auto picture = decode_picture(png_of_chunks(chunk, 1'000'000));
    ASSERT_TRUE(picture) << picture.error().message;
    EXPECT_EQ(picture->rgb, plain->rgb);
  }
  EXPECT_TRUE(decode_picture(webp_of_frames(50'000)));
  EXPECT_TRUE(decode_picture(gif_of_extensions(500'000)));
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
TEST(HostilePictureDeathTest, TakesNoMoreMemoryThanItsHeaderSays) {
  // A child with no address space beyond its own of now and 96 MiB; a thousand pictures leave nothing behind.
  const std::vector<std::string> names = all_names();
  const auto decode_all = [&] {
    long pages = 0;
    std::ifstream("/proc/self/statm") >> pages;
    const rlim_t bytes = static_cast<rlim_t>(pages) * 4096 + (rlim_t{96} << 20);
    const rlimit limit = {bytes, bytes};
    setrlimit(RLIMIT_AS, &limit);
    (void)decode_picture(png_of_size(8192, 8191));
    (void)decode_picture(jpeg_of_scans(10'000));
    (void)decode_picture(png_of_chunks("\0\0\0\3tEXta\0b\0\0\0\0"sv, 1'000'000));
    for (int round = 0; round < 10; ++round)
      for (const std::string& name : names)
        if (!decode_picture(test::picture_file(name))) std::_Exit(1);
    std::_Exit(0);
  };
  EXPECT_EXIT(decode_all(), testing::ExitedWithCode(0), "");
}
#endif

TEST(HostilePicture, IsRefusedOrWholeWhereverItIsCut) {
  for (const std::string& name : all_names()) {
    const Bytes file = test::picture_file(name);
    const auto whole = decode_picture(file);
    ASSERT_TRUE(whole) << name;
    for (std::size_t length = 0; length < file.size(); length += 1 + file.size() / 97) {
      const auto cut = decode_picture(std::span(file).first(length));
      // Some files end in what no pixel is made of: a mark of the end, an EXIF block that turns the picture.
      if (!cut) {
        EXPECT_EQ(cut.error().kind, ErrorKind::kInvalidPicture) << cut.error().message;
      } else {
        EXPECT_TRUE(cut->rgb == whole->rgb || name.starts_with("turned")) << name << ", " << length << " bytes";
      }
    }
  }
}

TEST(HostilePicture, OfJpegIsRefusedWithoutItsLowerPart) {
  for (const char* name : {"420.jpg", "420-progressive.jpg", "cmyk.jpg", "restarts.jpg"}) {
    const Bytes file = test::picture_file(name);
    const auto cut = decode_picture(std::span(file).first(file.size() - file.size() / 20));
    ASSERT_FALSE(cut) << name;
    EXPECT_EQ(cut.error().kind, ErrorKind::kInvalidPicture);
    EXPECT_TRUE(read_picture_header(std::span(file).first(file.size() - file.size() / 20))) << name;
  }
}

TEST(HostilePicture, IsRefusedOrReadWhicheverOfItsBitsAreWrong) {
  testing::internal::CaptureStderr();
  test::TruthRandom random(7);
  for (const std::string& name : all_names()) {
    const Bytes file = test::picture_file(name);
    for (int i = 0; i < 100; ++i) {
      Bytes wrong = file;
      for (int flips = 1 + random.below(3); flips > 0; --flips)
        wrong[to_size(random.below(static_cast<int>(wrong.size())))] ^= std::byte(1 << random.below(8));
      const PictureLimits limits = {.pixels = 1 << 20};
      const auto header = read_picture_header(wrong, limits);
      const auto picture = decode_picture(wrong, limits);
      if (picture) {
        ASSERT_TRUE(header) << name;
        ASSERT_EQ(picture->size, header->size) << name;
        ASSERT_EQ(picture->rgb.size(), to_size(picture->size.pixels()) * 3) << name;
      } else {
        ASSERT_FALSE(picture.error().message.empty()) << name;
      }
    }
  }
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");  // libraries' messages are part of errors or of nothing
}

TEST(HostilePicture, IsRefusedWhereItsSizeIsALie) {
  for (const auto& [width, height] : {std::pair{23, 18}, std::pair{24, 17}, std::pair{4000, 4000}})
    EXPECT_FALSE(decode_picture(png_of_size(width, height))) << width << " x " << height;
  Bytes webp = test::picture_file("animated.webp");
  const std::size_t canvas = find(webp, "VP8X") + 12;
  set_little(webp, canvas, 3, 9);  // 10 pixels, less than the frame has
  const auto narrow = read_picture_header(webp);
  ASSERT_FALSE(narrow);
  EXPECT_EQ(narrow.error().kind, ErrorKind::kInvalidPicture);
  set_little(webp, canvas, 3, (1 << 24) - 1);
  const auto wide = read_picture_header(webp);
  ASSERT_FALSE(wide);
  EXPECT_EQ(wide.error().kind, ErrorKind::kPictureTooLarge);
  Bytes gif = test::picture_file("plain.gif");
  set_little(gif, 6, 2, 65535);
  EXPECT_FALSE(decode_picture(gif));
}

}  // namespace
}  // namespace octavo
