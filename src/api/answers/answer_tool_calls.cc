#include "api/answers/answer_tool_calls.h"

namespace octavo {
namespace {

/// Writes the members of a call that come after its id.
void write_called(bool is_custom, std::string_view name, std::string_view arguments, JsonWriter json) {
  const std::string_view kind = is_custom ? "custom" : "function";
  json.fields("type", kind).key(kind).object("name", name, is_custom ? "input" : "arguments", arguments);
}

bool is_custom(const AnswerPart& part) { return part.tool != nullptr && part.tool->is_custom; }

/// Appends to a call's arguments: one delta has them as one text, into however many parts the event was split.
void add_function_arguments(std::string_view text, std::string& deltas) {
  constexpr std::string_view kField = R"("arguments":)";
  if (deltas.contains(kField)) {
    std::string more;
    append_json_escaped(more, text);
    deltas.insert(deltas.size() - 1, more);
    return;
  }
  JsonWriter(deltas).fields("arguments", text);
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
  JsonWriter json(deltas);
  if (form_.is_function) {
    json.fields("name", part.text);
    return;
  }
  json.begin_object().fields("index", part.index, "id", part.id);
  write_called(is_custom(part), part.text, {}, json);
  json.end_object();
}

void AnswerToolCalls::add_arguments(const AnswerPart& part, std::string& deltas) {
  if (form_.is_kept) {
    held_bytes_ += part.text.size();
    calls_.back().arguments += part.text;
    return;
  }
  if (form_.is_function) return add_function_arguments(part.text, deltas);
  const bool has_input = is_custom(part);
  JsonWriter json(deltas);
  json.begin_object().fields("index", part.index).key(has_input ? "custom" : "function");
  json.object(has_input ? "input" : "arguments", part.text).end_object();
}

void AnswerToolCalls::write_deltas(std::string_view deltas, JsonWriter json) const {
  json.key(finish_name());
  if (form_.is_function) {
    json.begin_object().raw(deltas).end_object();
  } else {
    json.value(JsonElements{deltas});
  }
}

void AnswerToolCalls::write_all(JsonWriter json) const {
  json.key(finish_name());
  if (form_.is_function) {
    json.object("name", calls_.front().name, "arguments", calls_.front().arguments);
    return;
  }
  json.begin_array();
  for (const Call& call : calls_) {
    json.begin_object().fields("id", call.id);
    write_called(call.is_custom, call.name, call.arguments, json);
    json.end_object();
  }
  json.end_array();
}

void write_content(std::string_view text, const AnswerToolCalls* calls, JsonWriter json) {
  const bool any = calls != nullptr && calls->any();
  json.key("content");
  if (any && text.empty()) {
    json.value(nullptr);
  } else {
    json.value(text);
  }
  json.fields("refusal", nullptr);
  if (any) calls->write_all(json);
}

}  // namespace octavo
