// The header traceparent (W3C Trace Context, level 1), which says to which trace a request belongs. It is written to
// the access log and nowhere else. Pure; any thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace octavo::server {

struct TraceContext {
  std::string trace_id;   // 32 hexadecimal digits
  std::string parent_id;  // 16 digits: the client's span
};

/// Reads the header. None: it breaks the rules; further fields of later versions are allowed.
std::optional<TraceContext> parse_traceparent(std::string_view text);

}  // namespace octavo::server
