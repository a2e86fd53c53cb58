// An answer as a ToolCallParser tells it, put together, and tools to be called in it.
#pragma once

#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include "toolcalls/tool_call_parser.h"

namespace octavo::test {

struct ParsedCall {
  std::string name, arguments, id = {};
  bool has_ended = false;
  bool operator==(const ParsedCall&) const = default;
};

struct ParsedAnswer {
  std::string content = {}, reasoning = {};
  std::vector<ParsedCall> calls = {};
  bool is_orderly = true;  // indexes count up, and nothing comes behind a call's end
  bool operator==(const ParsedAnswer&) const = default;

  void add(std::span<const ToolCallEvent> events) {
    for (const ToolCallEvent& event : events) {
      switch (event.kind) {
        case ToolCallEvent::Kind::kContent: content += event.text; break;
        case ToolCallEvent::Kind::kReasoning: reasoning += event.text; break;
        case ToolCallEvent::Kind::kBegin:
          is_orderly =
              is_orderly && event.index == static_cast<int>(calls.size()) && (calls.empty() || calls.back().has_ended);
          calls.push_back({.name = event.text, .arguments = {}, .id = event.id});
          break;
        case ToolCallEvent::Kind::kArguments:
        case ToolCallEvent::Kind::kEnd:
          is_orderly = is_orderly && event.index + 1 == static_cast<int>(calls.size()) && !calls.back().has_ended;
          if (!is_orderly) return;
          calls.back().arguments += event.text;
          calls.back().has_ended = event.kind == ToolCallEvent::Kind::kEnd;
      }
    }
  }
};

inline std::ostream& operator<<(std::ostream& out, const ParsedAnswer& answer) {
  out << "content <" << answer.content << "> reasoning <" << answer.reasoning << ">";
  for (const ParsedCall& call : answer.calls)
    out << "\n  " << call.name << " <" << call.arguments << "> id <" << call.id << ">"
        << (call.has_ended ? "" : " not ended");
  return out;
}

/// A JSON value as the server gives tools to templates.
inline TemplateValue template_value(const boost::json::value& value) {
  if (value.is_bool()) return value.get_bool();
  if (value.is_int64()) return value.get_int64();
  if (value.is_double()) return value.get_double();
  if (value.is_string()) return std::string(value.get_string());
  if (value.is_array()) {
    TemplateList list;
    for (const boost::json::value& item : value.get_array()) list.push_back(template_value(item));
    return list;
  }
  if (!value.is_object()) return {};
  TemplateDict dict;
  for (const auto& member : value.get_object())
    dict.emplace_back(std::string(member.key()), template_value(member.value()));
  return dict;
}

inline ToolSet tool_set(std::string_view json) { return ToolSet(template_value(boost::json::parse(json))); }

/// Tools whose parameters have every type.
inline const ToolSet& test_tools() {
  static const ToolSet tools = tool_set(R"([
    {"type": "function", "function": {"name": "weather", "parameters": {"type": "object", "properties": {
      "city": {"type": "string"}, "days": {"type": "integer"}, "share": {"type": "number"},
      "wind": {"type": "boolean"}, "more": {"type": "object"}, "tags": {"type": "array"},
      "note": {"type": ["string", "null"]}, "either": {"anyOf": [{"type": "string"}, {"type": "integer"}]},
      "unit": {"enum": ["C", "F"]}, "any": {}}}}},
    {"type": "function", "function": {"name": "time", "parameters": {"type": "object", "properties": {}}}},
    {"type": "function", "function": {"name": "Calendar.create_event"}}])");
  return tools;
}

using Channel = ToolCallParser::Channel;

/// The answer in pieces: `cuts` has the places behind which it is cut, in order.
inline ParsedAnswer parse(const ToolFormat& format, std::string_view text, std::span<const std::size_t> cuts = {},
                          Channel channel = Channel::kContent, bool first_only = false,
                          ToolCallParser::Sure sure = ToolCallParser::Sure::kNothing) {
  ToolCallParser parser(format, test_tools(), first_only, sure);
  ParsedAnswer answer;
  std::size_t begin = 0;
  for (const std::size_t end : cuts) {
    answer.add(parser.push(text.substr(begin, end - begin), channel));
    begin = end;
  }
  answer.add(parser.push(text.substr(begin), channel));
  answer.add(parser.finish());
  return answer;
}

}  // namespace octavo::test
