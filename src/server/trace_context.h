// The header traceparent (W3C Trace Context, level 1): of which trace a request is a part. It goes into the access log
// and nowhere else. Pure; any thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace octavo::server {

struct TraceContext {
  std::string trace_id;   // 32 hexadecimal digits
  std::string parent_id;  // 16: the span within which the client asked
};

/// None where it is not by the rules; a later version's further fields are allowed.
std::optional<TraceContext> parse_traceparent(std::string_view text);

}  // namespace octavo::server
