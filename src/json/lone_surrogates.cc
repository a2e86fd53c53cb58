#include "json/lone_surrogates.h"

#include <algorithm>
#include <charconv>

namespace octavo {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD", kReplacementEscape = "\\ufffd";
constexpr std::size_t kEscapeBytes = 6;
constexpr char kLeadOfHalves = '\xED';

/// The number of an escape \uXXXX that begins at `begin`; none: there is no escape.
std::optional<unsigned> escape_at(std::string_view json, std::size_t begin) {
  const std::string_view escape = json.substr(std::min(begin, json.size()), kEscapeBytes);
  if (escape.size() < kEscapeBytes || !escape.starts_with("\\u")) return std::nullopt;
  unsigned unit = 0;
  const auto [end, error] = std::from_chars(escape.data() + 2, escape.data() + kEscapeBytes, unit, 16);
  return error == std::errc() && end == escape.data() + kEscapeBytes ? std::optional(unit) : std::nullopt;
}

bool is_high(unsigned unit) { return unit >= 0xD800 && unit <= 0xDBFF; }
bool is_low(unsigned unit) { return unit >= 0xDC00 && unit <= 0xDFFF; }

/// Whether the three bytes at `begin` are a lone surrogate as UTF-8 would write it, which valid UTF-8 never has.
bool has_bytes_of_half(std::string_view json, std::size_t begin) {
  if (json.size() - begin < kReplacement.size()) return false;
  const auto second = static_cast<unsigned char>(json[begin + 1]), third = static_cast<unsigned char>(json[begin + 2]);
  return second >= 0xA0 && second <= 0xBF && third >= 0x80 && third <= 0xBF;
}

}  // namespace

std::optional<std::string> without_lone_surrogates(std::string_view json) {
  std::optional<std::string> mended;
  const auto replace = [&](std::size_t begin, std::string_view by) {
    if (!mended) mended.emplace(json);
    mended->replace(begin, by.size(), by);
  };
  /// Takes an escape, or a pair of them, and gives the place where the text goes on.
  const auto take_escape = [&](std::size_t i) {
    const auto unit = escape_at(json, i);
    if (!unit) return i + 2;  // another escape, such as \n
    const auto next = is_high(*unit) ? escape_at(json, i + kEscapeBytes) : std::nullopt;
    if (next && is_low(*next)) return i + 2 * kEscapeBytes;
    if (is_high(*unit) || is_low(*unit)) replace(i, kReplacementEscape);
    return i + kEscapeBytes;
  };
  // Each of the two bytes has a search of its own: find_first_of() would look at every byte singly.
  std::size_t escape = json.find('\\'), lead = json.find(kLeadOfHalves);
  while (std::min(escape, lead) != std::string_view::npos) {
    if (lead < escape) {
      if (has_bytes_of_half(json, lead)) replace(lead, kReplacement);
      lead = json.find(kLeadOfHalves, lead + 1);
    } else {
      const std::size_t end = take_escape(escape);
      escape = json.find('\\', end);
      if (lead < end) lead = json.find(kLeadOfHalves, end);
    }
  }
  return mended;
}

}  // namespace octavo
