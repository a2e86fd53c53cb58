#include "base/hex.h"

#include <fmt/format.h>

#include <charconv>
#include <iterator>

namespace octavo {

std::string hex_digits(std::span<const std::byte> bytes) {
  std::string digits;
  for (const std::byte byte : bytes) fmt::format_to(std::back_inserter(digits), "{:02x}", static_cast<unsigned>(byte));
  return digits;
}

std::string percent_decoded(std::string_view text) {
  std::string decoded;
  for (std::size_t i = 0; i < text.size(); ++i) {
    unsigned char byte = 0;
    const bool is_escape =
        text[i] == '%' && i + 2 < text.size() &&
        std::from_chars(text.data() + i + 1, text.data() + i + 3, byte, 16).ptr == text.data() + i + 3;
    decoded += is_escape ? static_cast<char>(byte) : text[i];
    if (is_escape) i += 2;
  }
  return decoded;
}

}  // namespace octavo
