#include "base/utf8.h"

#include <algorithm>

namespace octavo {

namespace {

unsigned byte_at(std::string_view bytes, std::size_t i) { return static_cast<unsigned char>(bytes[i]); }

bool is_continuation(unsigned byte) { return (byte & 0xC0U) == 0x80U; }

/// The second bytes that may follow a lead byte (Unicode 15, table 3-7), and the whole length; 0: it is no lead byte.
struct LeadRule {
  std::size_t length;
  unsigned second_min;
  unsigned second_max;
};

LeadRule lead_rule(unsigned lead) {
  if (lead < 0x80) return {1, 0, 0};
  if (lead < 0xC2) return {0, 0, 0};
  if (lead < 0xE0) return {2, 0x80, 0xBF};
  if (lead == 0xE0) return {3, 0xA0, 0xBF};
  if (lead == 0xED) return {3, 0x80, 0x9F};
  if (lead < 0xF0) return {3, 0x80, 0xBF};
  if (lead == 0xF0) return {4, 0x90, 0xBF};
  if (lead < 0xF4) return {4, 0x80, 0xBF};
  if (lead == 0xF4) return {4, 0x80, 0x8F};
  return {0, 0, 0};
}

struct LenientCharacter {
  std::uint32_t code_point;
  std::size_t length;  // 0: no character starts here
};

LenientCharacter lenient_character(std::string_view bytes) {
  const unsigned lead = byte_at(bytes, 0);
  if (lead < 0x80) return {lead, 1};
  if (lead < 0xC0 || lead >= 0xF8) return {0, 0};
  const std::size_t length = lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
  if (bytes.size() < length) return {0, 0};
  std::uint32_t code_point = lead & (0x7FU >> length);
  for (std::size_t i = 1; i < length; ++i) {
    const unsigned byte = byte_at(bytes, i);
    if (!is_continuation(byte)) return {0, 0};
    code_point = code_point << 6 | (byte & 0x3FU);
  }
  if (code_point > 0x10FFFF) return {0, 0};
  return {code_point, length};
}

}  // namespace

void append_utf8(std::string& out, std::uint32_t code_point) {
  const auto put = [&out](std::uint32_t byte) { out.push_back(static_cast<char>(byte)); };
  if (code_point < 0x80) {
    put(code_point);
  } else if (code_point < 0x800) {
    put(0xC0 | code_point >> 6);
    put(0x80 | (code_point & 0x3F));
  } else if (code_point < 0x10000) {
    put(0xE0 | code_point >> 12);
    put(0x80 | (code_point >> 6 & 0x3F));
    put(0x80 | (code_point & 0x3F));
  } else {
    put(0xF0 | code_point >> 18);
    put(0x80 | (code_point >> 12 & 0x3F));
    put(0x80 | (code_point >> 6 & 0x3F));
    put(0x80 | (code_point & 0x3F));
  }
}

std::uint32_t decode_utf8(std::string_view text) {
  const unsigned lead = byte_at(text, 0);
  if (lead < 0x80) return lead;
  const std::size_t length = lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
  std::uint32_t code_point = lead & (0x7FU >> length);
  for (std::size_t i = 1; i < length; ++i) code_point = code_point << 6 | (byte_at(text, i) & 0x3FU);
  return code_point;
}

std::size_t utf8_announced_length(char lead) {
  const auto byte = static_cast<unsigned char>(lead);
  if (byte < 0xC0) return 1;
  if (byte < 0xE0) return 2;
  return byte < 0xF0 ? 3 : 4;
}

Utf8Step next_utf8_step(std::string_view bytes) {
  using enum Utf8Step::Kind;
  const LeadRule rule = lead_rule(byte_at(bytes, 0));
  if (rule.length == 0) return {kIllFormed, 1};
  for (std::size_t i = 1; i < rule.length; ++i) {
    if (i == bytes.size()) return {kIncomplete, i};
    const unsigned byte = byte_at(bytes, i);
    const bool allowed = i == 1 ? byte >= rule.second_min && byte <= rule.second_max : is_continuation(byte);
    if (!allowed) return {kIllFormed, i};
  }
  return {kCharacter, rule.length};
}

std::string to_valid_utf8(std::string_view bytes) {
  std::string out;
  out.reserve(bytes.size());
  while (!bytes.empty()) {
    const Utf8Step step = next_utf8_step(bytes);
    out += step.kind == Utf8Step::Kind::kCharacter ? bytes.substr(0, step.length) : kReplacementCharacter;
    bytes.remove_prefix(step.length);
  }
  return out;
}

RepairedText repair_utf8(std::string_view bytes) {
  RepairedText repaired;
  repaired.text.reserve(bytes.size());
  while (!bytes.empty()) {
    const auto [code_point, length] = lenient_character(bytes);
    if (length == 0) {
      repaired.text += kReplacementCharacter;
    } else {
      append_utf8(repaired.text, code_point);
      repaired.has_surrogates |= code_point >= 0xD800 && code_point < 0xE000;
    }
    bytes.remove_prefix(std::max<std::size_t>(length, 1));
  }
  return repaired;
}

}  // namespace octavo
