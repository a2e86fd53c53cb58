// Server-sent events whose name stands in their data too, as Anthropic's Messages and OpenAI's Responses have them.
//
// Free functions without state; any thread.
#pragma once

#include <string>
#include <string_view>

#include "json/json_writer.h"

namespace octavo {

/// Begins an event: "event: NAME", and data whose `type` is the same name. The writer is for the members that follow
/// the type.
inline JsonWriter begin_typed_event(std::string& out, std::string_view name) {
  out += "event: ";
  out += name;
  out += "\ndata: ";
  return JsonWriter(out).begin_object().fields("type", name);
}

inline constexpr std::string_view kTypedEventEnd = "}\n\n";

inline void end_typed_event(std::string& out) { out += kTypedEventEnd; }

/// Opens the last event of `out` again, for further members.
inline JsonWriter reopen_typed_event(std::string& out) {
  out.resize(out.size() - kTypedEventEnd.size());
  return JsonWriter(out);
}

}  // namespace octavo
