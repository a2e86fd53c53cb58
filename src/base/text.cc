#include "base/text.h"

#include <fmt/format.h>

#include <cstdint>

#include "base/ascii.h"
#include "base/displayable.h"
#include "base/utf8.h"

namespace octavo {

bool is_valid_utf8(std::string_view text) {
  while (!text.empty()) {
    const Utf8Step step = next_utf8_step(text);
    if (step.kind != Utf8Step::Kind::kCharacter) return false;
    text.remove_prefix(step.length);
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
    const DisplayStep step = next_display_step(text);
    if (out.size() + 4 * step.length + 3 > kMaxShownBytes) return out + "...";
    if (step.is_displayable) {
      out += text.substr(0, step.length);
    } else {
      for (const char byte : text.substr(0, step.length))
        out += fmt::format("\\x{:02X}", static_cast<std::uint8_t>(byte));
    }
    text.remove_prefix(step.length);
  }
  return out;
}

std::string lower_case(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = lower(c);
  return out;
}

std::string dashed_name(std::string_view name) {
  std::string made = lower_case(name);
  for (char& c : made)
    if (c == ' ' || c == '_') c = '-';
  return made;
}

}  // namespace octavo
