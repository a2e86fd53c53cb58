#include "server/access_log.h"

#include <fmt/format.h>

#include <cstdint>

#include "server/iso_time.h"
#include "server/json_writer.h"

namespace octavo::server {
namespace {

/// Characters that a terminal acts on, or that end a line for some readers: C1, U+2028 to U+202E, U+2066 to U+2069.
bool is_control(std::uint32_t code) {
  return (code >= 0x80 && code < 0xA0) || (code >= 0x2028 && code <= 0x202E) || (code >= 0x2066 && code <= 0x2069);
}

/// JSON lets DEL and all characters beyond ASCII stand as they are; these are escaped as well. `text` is valid UTF-8.
void append_log_field(std::string& line, std::string_view name, std::string_view text) {
  std::string field;
  append_json_field(field, name, text);
  const auto byte = [&field](std::size_t i) -> std::uint32_t {
    return i < field.size() ? static_cast<unsigned char>(field[i]) : 0;
  };
  for (std::size_t i = 0; i < field.size(); ++i) {
    std::uint32_t code = 0;
    std::size_t length = 1;
    if (byte(i) == 0xC2) {
      code = byte(i + 1);
      length = 2;
    } else if (byte(i) == 0xE2) {
      code = 0x2000 | (byte(i + 1) & 0x3F) << 6 | (byte(i + 2) & 0x3F);
      length = 3;
    }
    if (byte(i) == 0x7F || is_control(code)) {
      fmt::format_to(std::back_inserter(line), "\\u{:04x}", byte(i) == 0x7F ? 0x7F : code);
      i += length - 1;
    } else {
      line += field[i];
    }
  }
}

}  // namespace

std::string to_json_line(const AccessRecord& record, std::chrono::system_clock::time_point time) {
  std::string line = fmt::format("{{\"time\":\"{}\",", iso_time(time));
  const auto text = [&line](std::string_view name, std::string_view value) {
    if (value.empty()) return;
    append_log_field(line, name, value);
    line += ',';
  };
  const auto count = [&line](std::string_view name, std::int64_t value) {
    if (value >= 0) fmt::format_to(std::back_inserter(line), "\"{}\":{},", name, value);
  };
  const auto milliseconds = [&line](std::string_view name, double seconds) {
    if (seconds >= 0) fmt::format_to(std::back_inserter(line), "\"{}\":{:.3f},", name, seconds * 1000);
  };
  text("id", record.id);
  text("peer", record.peer);
  text("client", record.client);
  text("key", record.key);
  text("method", record.method);
  text("path", record.path);
  count("status", record.status);
  count("bytes", static_cast<std::int64_t>(record.response_bytes));
  milliseconds("duration_ms", record.duration_s);
  if (record.streamed) line += "\"streamed\":true,";
  count("prompt_tokens", record.prompt_tokens);
  count("cached_tokens", record.cached_tokens);
  count("diverged_at", record.diverged_at);
  count("warnings", record.warnings);
  count("generated_tokens", record.generated_tokens);
  milliseconds("time_to_first_token_ms", record.time_to_first_token_s);
  text("finish_reason", record.finish_reason);
  text("trace_id", record.trace_id);
  text("parent_id", record.parent_id);
  text("prompt", record.prompt);
  line.back() = '}';
  return line;
}

}  // namespace octavo::server
