#include "base/float_repr.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <cstdlib>
#include <string_view>

#include "base/to_size.h"

namespace octavo {

std::string float_repr(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  char buffer[64];
  const auto end = std::to_chars(buffer, buffer + sizeof(buffer), value, std::chars_format::scientific).ptr;
  const std::string_view written(buffer, to_size(end - buffer));
  const std::size_t e = written.find('e');
  const int exponent = std::stoi(std::string(written.substr(e + 1)));
  const bool negative = written[0] == '-';
  std::string digits;
  for (const char c : written.substr(0, e))
    if (c >= '0' && c <= '9') digits += c;
  std::string text = negative ? "-" : "";
  const int count = static_cast<int>(digits.size());
  if (exponent < -4 || exponent >= 16) {
    text += digits.substr(0, 1);
    if (count > 1) text += '.';
    text += digits.substr(1);
    return text + fmt::format("e{}{:02}", exponent < 0 ? '-' : '+', std::abs(exponent));
  }
  if (exponent < 0) return text + "0." + std::string(to_size(-exponent - 1), '0') + digits;
  if (count <= exponent + 1) return text + digits + std::string(to_size(exponent + 1 - count), '0') + ".0";
  return text + digits.substr(0, to_size(exponent + 1)) + "." + digits.substr(to_size(exponent + 1));
}

}  // namespace octavo
