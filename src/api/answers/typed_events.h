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

inline void end_typed_event(std::string& out) { out += "}\n\n"; }

}  // namespace octavo
