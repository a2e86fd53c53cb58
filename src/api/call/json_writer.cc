#include "api/call/json_writer.h"

#include <fmt/format.h>

#include <iterator>

#include "json/json_string.h"

namespace octavo {
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

}  // namespace octavo
