// Bytes as hexadecimal digits, and as addresses have them.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace octavo {

/// Two small digits for each byte.
std::string hex_digits(std::span<const std::byte> bytes);

/// The text with the bytes that it has as %XX (RFC 3986, 2.1). A % without two digits stays as it is.
std::string percent_decoded(std::string_view text);

}  // namespace octavo
