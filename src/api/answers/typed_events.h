// Server-sent events whose name stands in their data too, as Anthropic's Messages and OpenAI's Responses have them.
//
// Free functions without state; any thread.
#pragma once

#include <fmt/format.h>

#include <iterator>
#include <string>
#include <string_view>

namespace octavo {

/// "event: NAME" and the beginning of its data, whose type has the same name.
inline void begin_typed_event(std::string& out, std::string_view name) {
  fmt::format_to(std::back_inserter(out), "event: {}\ndata: {{\"type\":\"{}\"", name, name);
}

inline void end_typed_event(std::string& out) { out += "}\n\n"; }

}  // namespace octavo
