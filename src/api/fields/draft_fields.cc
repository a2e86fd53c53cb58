#include "api/fields/draft_fields.h"

#include <boost/json/value.hpp>
#include <utility>

#include "api/call/history_parts.h"
#include "api/fields/openai_messages.h"
#include "base/error.h"

namespace octavo {
namespace {

namespace json = boost::json;

ApiResult<std::string> read_prediction(const JsonCursor& given) {
  OCTAVO_TRY_VOID(to_api_result(given.needed_object("a prediction (an object)")));
  OCTAVO_TRY(const std::string_view type, to_api_result(given["type"].needed_string("\"content\"")));
  if (type != "content") return refused(given["type"].wrong_value("\"content\"", "unsupported_parameter"));
  ChatMessage message;  // a message, since the content has the forms of a user's
  message.role = "user";
  HistoryReader history;
  OCTAVO_TRY_VOID(read_content(given["content"], true, history, message));
  for (const ContentPart& part : message.parts) message.content += part.text;
  return std::move(message.content);
}

void take_prediction(FieldReader& reader, const ApiField& field) {
  const JsonCursor given = reader.at(field.path);
  if (!given.is_given()) return;
  auto text = read_prediction(given);
  if (!text) return reader.refuse(std::move(text.error()));
  reader.request.prediction = std::move(*text);
}

constexpr ApiField kRows[] = {
    field::speculation(),
    field::object(
        "prediction", "",
        "OpenAI's: `{\"type\": \"content\", \"content\": ...}`, a text that the answer is expected to be near "
        "to; it is drafted from, and never changes the answer",
        take_prediction),
};

}  // namespace

void field::take_speculation(FieldReader& reader, const ApiField& field) {
  const JsonCursor given = reader.at(field.path);
  if (!given.is_given()) return;
  int& most = reader.request.settings.max_drafts;
  if (const json::object* members = given.if_object()) {
    for (const auto& member : *members)
      if (member.key() != "max")
        return reader.refuse(given[std::string_view(member.key())].error(
            "found a member of that name, expected max alone", "unsupported_parameter"));
    most = static_cast<int>(reader.take(given["max"].integer(0, kMaxDraftTokens)).value_or(kMaxDraftTokens));
  } else if (given.value()->is_bool()) {
    most = given.value()->get_bool() ? kMaxDraftTokens : 0;
  } else {
    reader.refuse(given.wrong_type("true, false, or an object with a max"));
  }
}

const FieldTable kDraftFields = kRows;

}  // namespace octavo
