#include "base/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>

namespace octavo {
namespace {

/// Bytes of the well-formed sequence that `text` begins with; 0 if there is none.
std::size_t utf8_sequence_size(std::string_view text) {
  const auto byte = [&](std::size_t i) { return i < text.size() ? static_cast<std::uint8_t>(text[i]) : 0; };
  const auto in = [&](std::size_t i, int low, int high) { return byte(i) >= low && byte(i) <= high; };
  const int lead = byte(0);
  if (lead < 0x80) return 1;
  if (lead >= 0xC2 && lead <= 0xDF) return in(1, 0x80, 0xBF) ? 2 : 0;
  if (lead >= 0xE0 && lead <= 0xEF) {
    const int low = lead == 0xE0 ? 0xA0 : 0x80;
    const int high = lead == 0xED ? 0x9F : 0xBF;
    return in(1, low, high) && in(2, 0x80, 0xBF) ? 3 : 0;
  }
  if (lead >= 0xF0 && lead <= 0xF4) {
    const int low = lead == 0xF0 ? 0x90 : 0x80;
    const int high = lead == 0xF4 ? 0x8F : 0xBF;
    return in(1, low, high) && in(2, 0x80, 0xBF) && in(3, 0x80, 0xBF) ? 4 : 0;
  }
  return 0;
}

}  // namespace

bool is_valid_utf8(std::string_view text) {
  while (!text.empty()) {
    const std::size_t size = utf8_sequence_size(text);
    if (size == 0) return false;
    text.remove_prefix(size);
  }
  return true;
}

std::string quote(std::string_view text) {
  constexpr std::size_t kShown = 80;
  std::string out = "'";
  for (const char c : text.substr(0, kShown)) {
    if (c >= 0x20 && c < 0x7F) {
      if (c == '\'' || c == '\\') out += '\\';
      out += c;
    } else {
      out += fmt::format("\\x{:02x}", static_cast<std::uint8_t>(c));
    }
  }
  out += text.size() > kShown ? "...'" : "'";
  return out;
}

std::string printable(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const std::size_t size = utf8_sequence_size(text);
    const auto lead = static_cast<std::uint8_t>(text[0]);
    const bool is_c1 = size == 2 && lead == 0xC2 && static_cast<std::uint8_t>(text[1]) < 0xA0;
    const std::size_t shown = std::max<std::size_t>(size, 1);
    if (out.size() + 4 * shown + 3 > kMaxShownBytes) return out + "...";
    if (size == 0 || lead < 0x20 || lead == 0x7F || is_c1) {
      for (const char byte : text.substr(0, shown)) out += fmt::format("\\x{:02X}", static_cast<std::uint8_t>(byte));
    } else {
      out += text.substr(0, shown);
    }
    text.remove_prefix(shown);
  }
  return out;
}

std::string lower_case(std::string_view text) {
  std::string out(text);
  for (char& c : out)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return out;
}

}  // namespace octavo
