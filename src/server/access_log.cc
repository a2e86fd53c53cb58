#include "server/access_log.h"

#include <fmt/format.h>

#include "api/answers/iso_time.h"
#include "base/displayable.h"
#include "base/utf8.h"
#include "json/json_writer.h"

namespace octavo::server {
namespace {

/// Writes a field. JSON allows DEL and all characters beyond ASCII unescaped; those that terminals do not show are
/// escaped here as well. `text` is valid UTF-8.
void write_log_field(std::string& line, std::string_view name, std::string_view text) {
  const std::string string = json_string(text);
  JsonWriter(line).key(name);
  for (std::string_view rest = string; !rest.empty();) {
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
  std::string line;
  JsonWriter json(line);
  const auto text = [&line](std::string_view name, std::string_view value) {
    if (!value.empty()) write_log_field(line, name, value);
  };
  const auto count = [&json](std::string_view name, std::int64_t value) {
    if (value >= 0) json.fields(name, value);
  };
  const auto milliseconds = [&json](std::string_view name, double seconds) {
    if (seconds >= 0) json.fields(name, JsonText{fmt::format("{:.3f}", seconds * 1000)});
  };
  json.begin_object().fields("time", iso_time(time));
  text("id", record.id);
  text("peer", record.peer);
  text("client", record.client);
  text("key", record.key);
  text("session", record.session);
  text("method", record.method);
  text("path", record.path);
  count("status", record.status);
  count("bytes", static_cast<std::int64_t>(record.response_bytes));
  milliseconds("duration_ms", record.duration_s);
  if (record.streamed) json.fields("streamed", true);
  count("prompt_tokens", record.prompt_tokens);
  count("cached_tokens", record.cached_tokens);
  count("stored_tokens", record.stored_tokens);
  count("diverged_at", record.diverged_at);
  count("warnings", record.warnings);
  count("generated_tokens", record.generated_tokens);
  milliseconds("time_to_first_token_ms", record.time_to_first_token_s);
  text("finish_reason", record.finish_reason);
  text("trace_id", record.trace_id);
  text("parent_id", record.parent_id);
  text("prompt", record.prompt);
  json.end_object();
  return line;
}

}  // namespace octavo::server
