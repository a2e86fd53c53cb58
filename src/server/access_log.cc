#include "server/access_log.h"

#include <fmt/format.h>

#include <cstdint>
#include <iterator>

#include "api/answers/iso_time.h"
#include "api/call/json_writer.h"
#include "base/displayable.h"
#include "base/utf8.h"

namespace octavo::server {
namespace {

/// JSON lets DEL and all characters beyond ASCII stand as they are; those that people are not shown are escaped as
/// well. `text` is valid UTF-8.
void append_log_field(std::string& line, std::string_view name, std::string_view text) {
  std::string field;
  append_json_field(field, name, text);
  for (std::string_view rest = field; !rest.empty();) {
    const DisplayStep step = next_display_step(rest);
    if (step.is_displayable) {
      line += rest.substr(0, step.length);
    } else {
      append_json_escape(line, decode_utf8(rest));
    }
    rest.remove_prefix(step.length);
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
