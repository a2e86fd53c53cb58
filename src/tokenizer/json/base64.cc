#include "tokenizer/json/base64.h"

#include <cstdint>

namespace octavo {

namespace {

int digit(char c) {
  if (c >= 'A' && c <= 'Z') return c - 'A';
  if (c >= 'a' && c <= 'z') return c - 'a' + 26;
  if (c >= '0' && c <= '9') return c - '0' + 52;
  if (c == '+') return 62;
  return c == '/' ? 63 : -1;
}

}  // namespace

std::optional<std::string> decode_base64(std::string_view text) {
  constexpr std::size_t kGroup = 4;
  if (text.size() % kGroup != 0) return std::nullopt;
  std::string bytes;
  bytes.reserve(text.size() / kGroup * 3);
  while (!text.empty()) {
    const bool is_last = text.size() == kGroup;
    const std::size_t num_pads = !is_last || text[3] != '=' ? 0 : text[2] != '=' ? 1 : 2;
    std::uint32_t group = 0;
    for (std::size_t i = 0; i < kGroup; ++i) {
      const int value = i >= kGroup - num_pads ? 0 : digit(text[i]);
      if (value < 0) return std::nullopt;
      group = group << 6U | static_cast<std::uint32_t>(value);
    }
    for (std::size_t i = 0; i < 3 - num_pads; ++i) bytes += static_cast<char>(group >> (16 - 8 * i) & 0xFFU);
    text.remove_prefix(kGroup);
  }
  return bytes;
}

std::string encode_base64(std::string_view bytes) {
  constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t at = 0; at < bytes.size(); at += 3) {
    const std::string_view some = bytes.substr(at, 3);
    std::uint32_t group = 0;
    for (std::size_t i = 0; i < 3; ++i)
      group = group << 8U | (i < some.size() ? static_cast<unsigned char>(some[i]) : 0U);
    for (std::size_t i = 0; i < 4; ++i) text += i <= some.size() ? kDigits[group >> (18 - 6 * i) & 0x3FU] : '=';
  }
  return text;
}

}  // namespace octavo
