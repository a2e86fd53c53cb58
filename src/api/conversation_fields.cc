#include "api/conversation_fields.h"

#include <fmt/format.h>

#include <utility>

#include "api/completion.h"
#include "api/template_names.h"

namespace octavo {

ApiRequest chat_request_of(const ServedModel& model, std::string_view prompt_field) {
  ApiRequest request = request_of(model);
  request.prompt.emplace<Conversation>().options.names = model.policy.template_names;
  request.prompt_field = prompt_field;
  return request;
}

Conversation& conversation_in(FieldReader& reader) { return std::get<Conversation>(reader.request.prompt); }

namespace field {

void take_kwargs(FieldReader& reader, const ApiField& field) {
  const boost::json::object* given = reader.take(reader.at(field.path).object());
  if (given == nullptr) return;
  reader.keep(add_template_names(*given, fmt::format("{}.", field.path), conversation_in(reader).options.names));
}

void take_effort(FieldReader& reader, const ApiField& field) {
  const auto effort = reader.take(reader.at(field.path).string());
  if (effort) set_template_name(conversation_in(reader).options.names, "reasoning_effort", std::string(*effort));
}

void take_parallel_tool_calls(FieldReader& reader, const ApiField& field) {
  const auto asked = reader.take(reader.at(field.path).boolean());
  if (asked && !*asked) reader.request.tools.is_single = true;
}

}  // namespace field
}  // namespace octavo
