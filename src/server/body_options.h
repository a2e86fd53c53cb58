// The options for reading requests' bodies. A value: a section of ServerOptions.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>

#include "json/json_limits.h"

namespace octavo::server {

struct BodyOptions {
  std::size_t max_json_depth = kMaxJsonDepth;
  int parse_threads = 2;
  /// Gives freed memory back to the system, on a thread that parses. Null: others than the server use the process's
  /// allocator, and what it keeps is theirs.
  std::function<void()> return_memory = {};
  std::chrono::milliseconds return_interval{10'000};  // after large bodies; see memory_return.h
};

}  // namespace octavo::server
