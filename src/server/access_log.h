// One line of JSON for each request that was answered, or whose client left before. The I/O thread.
#pragma once

#include <spdlog/logger.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/error.h"

namespace octavo::server {

/// What is known of a request in the end. Counts below 0 and empty texts are left out.
struct AccessRecord {
  std::string id = {}, peer = {}, key = {}, method = {}, path = {}, finish_reason = {}, prompt = {};
  int status = 0;  // 499: the client hung up before an answer
  std::uint64_t response_bytes = 0;
  double duration_s = 0;
  bool streamed = false;
  std::int64_t prompt_tokens = -1, cached_tokens = -1, generated_tokens = -1;
  double time_to_first_token_s = -1;
};

/// {"time": "2025-01-31T12:00:00.123Z", "id": ..., "status": ..., "duration_ms": ...}
std::string to_json_line(const AccessRecord& record, std::chrono::system_clock::time_point time);

/// To a file, at its end, or to standard output where `path` is "-". A line that standard output cannot take at once is
/// dropped rather than waited for: a pipe that nobody reads must not stop the server.
Result<std::shared_ptr<spdlog::logger>> make_access_logger(const std::string& path);

}  // namespace octavo::server
