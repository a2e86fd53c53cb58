// Any bytes as a picture. Its header and its pixels agree, and neither takes more than the limits allow.
#include <cstddef>
#include <cstdint>
#include <span>

#include "fuzz_bytes.h"
#include "vision/picture.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace octavo;
  const auto bytes = std::as_bytes(std::span(data, size));
  const PictureLimits limits = {.pixels = 1 << 20, .decode_bytes = std::size_t{16} << 20};
  const auto header = read_picture_header(bytes, limits);
  const auto picture = decode_picture(bytes, limits);
  if (!picture) FUZZ_CHECK(!picture.error().message.empty());
  if (!header) {
    FUZZ_CHECK(!picture && picture.error().message == header.error().message);
    return 0;
  }
  FUZZ_CHECK(header->size.width > 0 && header->size.height > 0 && header->size.pixels() <= limits.pixels);
  FUZZ_CHECK(header->decode_bytes <= limits.decode_bytes);
  if (!picture) return 0;
  FUZZ_CHECK(picture->size == header->size);
  FUZZ_CHECK(picture->rgb.size() == static_cast<std::size_t>(picture->size.pixels()) * 3);
  FUZZ_CHECK(picture->rgb.size() <= header->decode_bytes);
  return 0;
}
