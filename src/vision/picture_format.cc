#include "vision/picture_format.h"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

#include "base/ascii.h"
#include "base/error.h"
#include "base/text.h"

namespace octavo {
namespace {

using std::string_view_literals::operator""sv;

/// A format that people send and that is not read.
struct RefusedFormat {
  std::string_view begin;
  std::string_view name;
  std::string_view way_out;
};

constexpr std::string_view kSaveAs = "save it as PNG or JPEG";
constexpr std::string_view kDrawAs = "draw it as PNG first, in the size in which it is to be read";
constexpr RefusedFormat kRefused[] = {
    {"II*\0"sv, "a TIFF", kSaveAs},
    {"MM\0*"sv, "a TIFF", kSaveAs},
    {"II+\0"sv, "a TIFF", kSaveAs},
    {"MM\0+"sv, "a TIFF", kSaveAs},
    {"BM"sv, "a BMP", kSaveAs},
    {"\0\0\1\0"sv, "an icon (ICO)", kSaveAs},
    {"\xFF\x0A"sv, "a JPEG XL", kSaveAs},
    {"\0\0\0\x0CJXL "sv, "a JPEG XL", kSaveAs},
    {"\0\0\0\x0CjP  "sv, "a JPEG 2000", kSaveAs},
    {"\xFF\x4F\xFF\x51"sv, "a JPEG 2000", kSaveAs},
    {"8BPS"sv, "a Photoshop document", kSaveAs},
    {"%PDF"sv, "a PDF", "draw its pages as PNG first, or send its text"},
    {"<svg"sv, "an SVG", kDrawAs},
};

/// The beginning of a text in small letters, without a byte order mark and without white space.
std::string begin_of_text(std::string_view text) {
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
  return lower_case(without_leading(text).substr(0, 1024));
}

/// The format of a file of boxes (ISO base media), which its first box names by brands of four letters.
RefusedFormat of_brands(std::string_view bytes) {
  const std::string_view brands = bytes.substr(8, 64);
  const auto has = [&](std::string_view brand) { return brands.find(brand) != std::string_view::npos; };
  if (has("avif") || has("avis")) return {.begin = {}, .name = "an AVIF", .way_out = kSaveAs};
  for (const std::string_view brand : {"heic", "heix", "hevc", "hevx", "heim", "heis", "mif1", "msf1"})
    if (has(brand))
      return {.begin = {},
              .name = "a HEIC",
              .way_out = "save it as JPEG or PNG; a phone has a setting to take pictures as JPEG"};
  return {.begin = {}, .name = "a video (MP4 or a relative)", .way_out = "save the frames that matter as PNG or JPEG"};
}

std::unexpected<Error> refuse(const RefusedFormat& format) {
  return fail_as(ErrorKind::kInvalidPicture, "{} is not read, only JPEG, PNG, WebP and GIF: {}", format.name,
                 format.way_out);
}

std::unexpected<Error> refuse_unknown(std::string_view bytes) {
  const std::string text = begin_of_text(bytes);
  if (text.starts_with("<!doctype html") || text.starts_with("<html"))
    return fail_as(ErrorKind::kInvalidPicture, "a web page, not a picture; give the address of the picture itself");
  if (text.starts_with("<svg") || (text.starts_with('<') && text.find("<svg") != std::string::npos))
    return refuse({.begin = {}, .name = "an SVG", .way_out = kDrawAs});
  std::string shown;
  for (const char c : bytes.substr(0, 8)) shown += fmt::format(" {:02X}", static_cast<unsigned char>(c));
  return fail_as(ErrorKind::kInvalidPicture, "no picture: the bytes begin with{}, as no JPEG, PNG, WebP or GIF does",
                 shown);
}

}  // namespace

Result<PictureFormat> find_picture_format(std::span<const std::byte> bytes) {
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (text.empty()) return fail_as(ErrorKind::kInvalidPicture, "no picture: there are no bytes");
  if (text.starts_with("\xFF\xD8\xFF"sv)) return PictureFormat::kJpeg;
  if (text.starts_with("\x89PNG\r\n\x1A\n"sv)) return PictureFormat::kPng;
  if (text.starts_with("GIF87a"sv) || text.starts_with("GIF89a"sv)) return PictureFormat::kGif;
  if (text.size() >= 12 && text.starts_with("RIFF"sv) && text.substr(8, 4) == "WEBP"sv) return PictureFormat::kWebp;
  if (text.size() >= 12 && text.substr(4, 4) == "ftyp"sv) return refuse(of_brands(text));
  for (const RefusedFormat& format : kRefused)
    if (text.starts_with(format.begin)) return refuse(format);
  return refuse_unknown(text);
}

}  // namespace octavo
