#include "api/answers/answer_tool_calls.h"

#include <fmt/format.h>

#include <iterator>

#include "api/call/json_writer.h"

namespace octavo {
namespace {

/// The members of a call behind its id.
void append_called(std::string& out, bool is_custom, std::string_view name, std::string_view arguments) {
  out += is_custom ? R"("type":"custom","custom":{)" : R"("type":"function","function":{)";
  append_json_field(out, "name", name);
  out += ',';
  append_json_field(out, is_custom ? "input" : "arguments", arguments);
  out += '}';
}

bool is_custom(const AnswerPart& part) { return part.tool != nullptr && part.tool->is_custom; }

/// Arguments of the call: one delta has them in one text, however many parts the event had.
void add_function_arguments(std::string_view text, std::string& deltas) {
  constexpr std::string_view kField = R"("arguments":)";
  if (deltas.contains(kField)) {
    std::string more;
    append_json_escaped(more, text);
    deltas.insert(deltas.size() - 1, more);
    return;
  }
  if (!deltas.empty()) deltas += ',';
  append_json_field(deltas, "arguments", text);
}

}  // namespace

AnswerToolCalls::Shown AnswerToolCalls::push(const RequestEvent& event) {
  Shown shown;
  const auto add = [this, &shown](const AnswerPart& part) {
    switch (part.kind) {
      case AnswerPart::Kind::kContent: shown.content += part.text; break;
      case AnswerPart::Kind::kReasoning: shown.reasoning += part.text; break;
      case AnswerPart::Kind::kBegin: begin(part, shown.deltas); break;
      case AnswerPart::Kind::kArguments: add_arguments(part, shown.deltas); break;
      case AnswerPart::Kind::kEnd: break;
    }
  };
  parts_.push(event, add);
  if (event.finish != FinishReason::kNone) parts_.finish(add);
  return shown;
}

void AnswerToolCalls::begin(const AnswerPart& part, std::string& deltas) {
  if (form_.is_kept) {
    held_bytes_ += part.id.size() + part.text.size() + sizeof(Call);
    calls_.push_back(
        {.id = std::string(part.id), .name = std::string(part.text), .arguments = {}, .is_custom = is_custom(part)});
    return;
  }
  if (form_.is_function) return append_json_field(deltas, "name", part.text);
  if (!deltas.empty()) deltas += ',';
  fmt::format_to(std::back_inserter(deltas), "{{\"index\":{},", part.index);
  append_json_field(deltas, "id", part.id);
  deltas += ',';
  append_called(deltas, is_custom(part), part.text, {});
  deltas += '}';
}

void AnswerToolCalls::add_arguments(const AnswerPart& part, std::string& deltas) {
  if (form_.is_kept) {
    held_bytes_ += part.text.size();
    calls_.back().arguments += part.text;
    return;
  }
  if (form_.is_function) return add_function_arguments(part.text, deltas);
  if (!deltas.empty()) deltas += ',';
  fmt::format_to(std::back_inserter(deltas), "{{\"index\":{},\"{}\":{{", part.index,
                 is_custom(part) ? "custom" : "function");
  append_json_field(deltas, is_custom(part) ? "input" : "arguments", part.text);
  deltas += "}}";
}

void AnswerToolCalls::append_deltas(std::string& out, std::string_view deltas) const {
  const char open = form_.is_function ? '{' : '[', close = form_.is_function ? '}' : ']';
  fmt::format_to(std::back_inserter(out), "\"{}\":{}{}{}", finish_name(), open, deltas, close);
}

void AnswerToolCalls::append_all(std::string& out) const {
  fmt::format_to(std::back_inserter(out), "\"{}\":", finish_name());
  if (form_.is_function) {
    out += '{';
    append_json_field(out, "name", calls_.front().name);
    out += ',';
    append_json_field(out, "arguments", calls_.front().arguments);
    out += '}';
    return;
  }
  out += '[';
  for (const Call& call : calls_) {
    if (out.back() != '[') out += ',';
    out += '{';
    append_json_field(out, "id", call.id);
    out += ',';
    append_called(out, call.is_custom, call.name, call.arguments);
    out += '}';
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
  out += ',';
  calls->append_all(out);
}

}  // namespace octavo
