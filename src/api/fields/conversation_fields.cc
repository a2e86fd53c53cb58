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

std::optional<PictureReader> pictures_of(FieldReader& reader) {
  auto pictures = PictureReader::create(JsonCursor(reader.body), reader.context);
  if (pictures) return std::move(*pictures);
  reader.refuse(std::move(pictures.error()));
  return std::nullopt;
}

std::optional<HistoryReader> history_of(FieldReader& reader) {
  auto pictures = pictures_of(reader);
  if (!pictures) return std::nullopt;
  return HistoryReader(std::move(*pictures));
}

namespace {

constexpr ApiField kPictureRows[] = {
    field::integer("image_min_tokens", 1, field::kNoMax, "the model's", "tokens that a picture becomes at least",
                   check_integer),
    field::integer("image_max_tokens", 1, field::kNoMax, "the model's",
                   "and at most, as far as the model can: it goes before `detail`", check_integer),
};

}  // namespace

const FieldTable kPictureFields = kPictureRows;

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
