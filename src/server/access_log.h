// The line of JSON for each request that was answered, or whose client left before. Pure; any thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace octavo::server {

/// The facts about a request at its end. Counts below 0 and empty texts are left out.
struct AccessRecord {
  std::string id = {}, key = {}, method = {}, path = {}, finish_reason = {}, prompt = {};
  std::string peer = {};                      // the address of the connection's other end
  std::string client = {};                    // the client behind it, as a trusted proxy says
  std::string session = {};                   // the client's name of a session, which its router keeps together
  std::string trace_id = {}, parent_id = {};  // from the header traceparent
  int status = 0;                             // 499: the client hung up before an answer
  std::uint64_t response_bytes = 0;
  double duration_s = 0;
  bool streamed = false;
  std::int64_t prompt_tokens = -1, cached_tokens = -1, stored_tokens = -1, generated_tokens = -1;
  std::int64_t diverged_at = -1;  // the position in the first prompt that diverges
  std::int64_t warnings = -1;     // the number of warnings, if there were any
  double time_to_first_token_s = -1;
};

/// The line: {"time": "2025-01-31T12:00:00.123Z", "id": ..., "status": ..., "duration_ms": ...}, without any control
/// character. Texts are valid UTF-8.
std::string to_json_line(const AccessRecord& record, std::chrono::system_clock::time_point time);

}  // namespace octavo::server
