#include "server/json_writer.h"

#include <fmt/format.h>

#include <array>
#include <iterator>

namespace octavo::server {
namespace {

bool needs_escape(char c) { return static_cast<unsigned char>(c) < 0x20 || c == '"' || c == '\\'; }

void append_escaped(std::string& out, char c) {
  switch (c) {
    case '"': out += "\\\""; return;
    case '\\': out += "\\\\"; return;
    case '\n': out += "\\n"; return;
    case '\r': out += "\\r"; return;
    case '\t': out += "\\t"; return;
    default: fmt::format_to(std::back_inserter(out), "\\u{:04x}", static_cast<unsigned char>(c));
  }
}

}  // namespace

void append_json_escaped(std::string& out, std::string_view text) {
  std::size_t begin = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (!needs_escape(text[i])) continue;
    out.append(text, begin, i - begin);
    append_escaped(out, text[i]);
    begin = i + 1;
  }
  out.append(text, begin);
}

void append_json_string(std::string& out, std::string_view text) {
  out += '"';
  append_json_escaped(out, text);
  out += '"';
}

std::size_t json_string_bytes(std::string_view text) {
  std::size_t num_bytes = text.size() + 2;
  std::string escaped;
  for (const char c : text) {
    if (!needs_escape(c)) continue;
    escaped.clear();
    append_escaped(escaped, c);
    num_bytes += escaped.size() - 1;
  }
  return num_bytes;
}

void append_json_field(std::string& out, std::string_view name, std::string_view text) {
  append_json_string(out, name);
  out += ':';
  append_json_string(out, text);
}

void append_json_logprob(std::string& out, float logprob) {
  constexpr float kUnlikely = -9999;
  fmt::format_to(std::back_inserter(out), "{}", logprob > kUnlikely ? logprob : kUnlikely);
}

void append_warnings(std::string& out, std::span<const std::string> warnings) {
  if (warnings.empty()) return;
  out += ",\"warnings\":[";
  for (const std::string& warning : warnings) {
    if (&warning != warnings.data()) out += ',';
    append_json_string(out, warning);
  }
  out += ']';
}

void append_json_ids(std::string& out, std::span<const std::int32_t> ids) {
  out += '[';
  for (std::size_t i = 0; i < ids.size(); ++i) {
    if (i > 0) out += ',';
    fmt::format_to(std::back_inserter(out), "{}", ids[i]);
  }
  out += ']';
}

}  // namespace octavo::server
