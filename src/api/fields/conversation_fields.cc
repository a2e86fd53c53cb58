#include "api/fields/conversation_fields.h"

#include <fmt/format.h>

#include <utility>

#include "api/call/completion.h"
#include "api/call/template_names.h"

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
  const JsonCursor given = reader.at(field.path);
  const boost::json::object* names = reader.take(given.object());
  if (names == nullptr) return;
  if (auto* conversation = std::get_if<Conversation>(&reader.request.prompt))
    reader.keep(add_template_names(*names, fmt::format("{}.", field.path), conversation->options.names));
  if (!reader.failed()) ask_by_names(reader, given, *names);
}

void take_parallel_tool_calls(FieldReader& reader, const ApiField& field) {
  const auto asked = reader.take(reader.at(field.path).boolean());
  if (asked && !*asked) reader.request.tools.is_single = true;
}

}  // namespace field
}  // namespace octavo
