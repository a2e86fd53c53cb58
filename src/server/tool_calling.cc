#include "server/tool_calling.h"

#include <fmt/format.h>
#include <openssl/sha.h>

#include <algorithm>
#include <array>
#include <iterator>

#include "server/json_writer.h"

namespace octavo::server {
namespace {

constexpr std::size_t kIdDigits = 24;

bool is_of_id(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
         std::string_view("_-.:").contains(c);
}

}  // namespace

std::string tool_call_id(const ToolCallEvent& event, std::string_view answer) {
  if (!event.id.empty() && std::ranges::all_of(event.id, is_of_id)) return event.id;
  const std::string text = fmt::format("{}\n{}", answer, event.index);
  std::array<unsigned char, SHA256_DIGEST_LENGTH> digest{};
  SHA256(reinterpret_cast<const unsigned char*>(text.data()), text.size(), digest.data());
  std::string id = "call_";
  for (std::size_t i = 0; i < kIdDigits / 2; ++i) fmt::format_to(std::back_inserter(id), "{:02x}", digest[i]);
  return id;
}

AnswerToolCalls::Shown AnswerToolCalls::push(const OwnedEvent& event) {
  Shown shown;
  if (!event.reasoning.empty()) add(parser_.push(event.reasoning, ToolCallParser::Channel::kReasoning), shown);
  if (!event.text.empty()) add(parser_.push(event.text, ToolCallParser::Channel::kContent), shown);
  if (event.finish != FinishReason::kNone) add(parser_.finish(), shown);
  return shown;
}

void AnswerToolCalls::add(std::span<const ToolCallEvent> events, Shown& shown) {
  for (const ToolCallEvent& event : events) {
    switch (event.kind) {
      case ToolCallEvent::Kind::kContent: shown.content += event.text; break;
      case ToolCallEvent::Kind::kReasoning: shown.reasoning += event.text; break;
      case ToolCallEvent::Kind::kBegin: begin(event, shown.deltas); break;
      case ToolCallEvent::Kind::kArguments: add_arguments(event, shown.deltas); break;
      case ToolCallEvent::Kind::kEnd: break;
    }
  }
}

void AnswerToolCalls::begin(const ToolCallEvent& event, std::string& deltas) {
  Call call{.id = tool_call_id(event, answer_), .name = event.text, .arguments = {}};
  if (is_kept_) {
    held_bytes_ += call.id.size() + call.name.size() + sizeof(Call);
    calls_.push_back(std::move(call));
    return;
  }
  if (!deltas.empty()) deltas += ',';
  fmt::format_to(std::back_inserter(deltas), "{{\"index\":{},", event.index);
  append_json_field(deltas, "id", call.id);
  deltas += ",\"type\":\"function\",\"function\":{";
  append_json_field(deltas, "name", call.name);
  deltas += ",\"arguments\":\"\"}}";
}

void AnswerToolCalls::add_arguments(const ToolCallEvent& event, std::string& deltas) {
  if (is_kept_) {
    held_bytes_ += event.text.size();
    calls_.back().arguments += event.text;
    return;
  }
  if (!deltas.empty()) deltas += ',';
  fmt::format_to(std::back_inserter(deltas), "{{\"index\":{},\"function\":{{", event.index);
  append_json_field(deltas, "arguments", event.text);
  deltas += "}}";
}

void AnswerToolCalls::append_all(std::string& out) const {
  out += '[';
  for (const Call& call : calls_) {
    if (out.back() != '[') out += ',';
    out += '{';
    append_json_field(out, "id", call.id);
    out += ",\"type\":\"function\",\"function\":{";
    append_json_field(out, "name", call.name);
    out += ',';
    append_json_field(out, "arguments", call.arguments);
    out += "}}";
  }
  out += ']';
}

void append_content(std::string& out, std::string_view text, const AnswerToolCalls* calls) {
  const bool any = calls != nullptr && calls->any();
  if (any && text.empty()) {
    out += "\"content\":null";
  } else {
    append_json_field(out, "content", text);
  }
  out += ",\"refusal\":null";
  if (!any) return;
  out += ",\"tool_calls\":";
  calls->append_all(out);
}

}  // namespace octavo::server
