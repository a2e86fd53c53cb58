#include "api/openai_messages.h"

#include <fmt/format.h>

#include <boost/json/value.hpp>
#include <utility>

#include "api/api_error.h"
#include "api/custom_tools.h"
#include "api/template_names.h"
#include "api/tool_fields.h"
#include "base/error.h"
#include "json/json_cursor.h"

namespace octavo {
namespace {

namespace json = boost::json;

constexpr std::string_view kArgumentForms = "a string of JSON or an object";

ApiResult<std::vector<ContentPart>> read_parts(const JsonCursor& parts, std::size_t num_parts) {
  std::vector<ContentPart> texts;
  texts.reserve(num_parts);
  for (std::size_t i = 0; i < num_parts; ++i) {
    const JsonCursor part = parts[i];
    OCTAVO_TRY_VOID(to_api_result(part.needed_object("a content part (an object)")));
    OCTAVO_TRY(const auto type, to_api_result(part["type"].string()));
    if (!type || (*type != "text" && *type != "refusal"))  // an assistant's refusal is text as well
      return refused(part["type"].wrong_value("\"text\": this server reads text only",
                                              type ? "unsupported_parameter" : "invalid_value"));
    OCTAVO_TRY(const auto text, to_api_result(part[*type].needed_string()));
    texts.push_back({.text = std::string(text)});
  }
  return texts;
}

/// A call of a custom tool as one of the function that stands for it.
ApiResult<ToolCall> read_custom_call(const JsonCursor& call) {
  OCTAVO_TRY(const auto id, to_api_result(call["id"].string()));
  OCTAVO_TRY(const JsonCursor custom, custom_in(call, "a name and an input"));
  OCTAVO_TRY(const std::string_view called, to_api_result(custom["name"].needed_string()));
  OCTAVO_TRY(const std::string_view input, to_api_result(custom["input"].needed_string()));
  return ToolCall{
      .id = std::string(id.value_or("")), .name = std::string(called), .arguments = arguments_of_input(input)};
}

ApiResult<ToolCall> read_call(const JsonCursor& call) {
  if (call.is_given() && is_custom_form(*call.value())) return read_custom_call(call);
  OCTAVO_TRY(const JsonCursor function, function_in(call, "a call (an object)", "a name and arguments"));
  OCTAVO_TRY(const auto id, to_api_result(call["id"].string()));
  OCTAVO_TRY(ToolCall read, read_called(function, kArgumentForms));
  read.id = id.value_or("");
  return read;
}

/// OpenAI's first form of a call: it has no id, and its result is the next message of the function's name.
ApiResult<void> read_function_call(const JsonCursor& function, ChatMessage& message) {
  OCTAVO_TRY(const json::object* given, to_api_result(function.object()));
  if (given == nullptr) return {};
  if (message.role != "assistant")
    return refused(function.error("found a call, expected it in an assistant's message"));
  OCTAVO_TRY(message.tool_calls.emplace_back(), read_called(function, kArgumentForms));
  return {};
}

ApiResult<void> read_calls(const JsonCursor& calls, ChatMessage& message) {
  OCTAVO_TRY(const std::size_t count, count_calls(calls, message.role));
  for (std::size_t i = 0; i < count; ++i) {
    OCTAVO_TRY(message.tool_calls.emplace_back(), read_call(calls[i]));
  }
  return {};
}

ApiResult<ChatMessage> read_message(const JsonCursor& given) {
  OCTAVO_TRY_VOID(to_api_result(given.needed_object("a message (an object)")));
  ChatMessage message;
  OCTAVO_TRY(message.role, read_role(given["role"]));
  OCTAVO_TRY_VOID(read_function_call(given["function_call"], message));
  OCTAVO_TRY_VOID(read_calls(given["tool_calls"], message));
  OCTAVO_TRY_VOID(read_content(given["content"], message));
  OCTAVO_TRY_VOID(read_text(given["name"], message.name));
  OCTAVO_TRY_VOID(read_text(given["tool_call_id"], message.tool_call_id));
  if (message.role != "tool") message.tool_call_id.clear();
  OCTAVO_TRY_VOID(read_text(given["reasoning_content"], message.reasoning));
  std::string by_other_name;
  OCTAVO_TRY_VOID(read_text(given["reasoning"], by_other_name));
  if (message.reasoning.empty()) message.reasoning = std::move(by_other_name);
  if (message.role != "assistant") message.reasoning.clear();
  return message;
}

}  // namespace

ApiResult<void> read_text(const JsonCursor& given, std::string& text) {
  OCTAVO_TRY(const auto read, to_api_result(given.string()));
  text = read.value_or("");
  return {};
}

ApiResult<ToolCall> read_called(const JsonCursor& function, std::string_view forms) {
  OCTAVO_TRY(const auto called, to_api_result(function["name"].string()));
  if (!called || called->empty()) return refused(function["name"].error("found none, expected a tool's name"));
  ToolCall call{.id = {}, .name = std::string(*called), .arguments = std::string("{}")};
  const JsonCursor given = function["arguments"];
  if (const json::value* arguments = given.value()) {
    if (!arguments->is_string() && !arguments->is_object()) return refused(given.wrong_type(forms));
    call.arguments = template_value(*arguments);
  }
  return call;
}

ApiResult<std::size_t> count_calls(const JsonCursor& calls, std::string_view role) {
  OCTAVO_TRY(const json::array* given, to_api_result(calls.array("an array of calls")));
  if (given == nullptr) return 0;
  if (!given->empty() && role != "assistant")
    return refused(calls.error("found calls, expected them in an assistant's message"));
  return given->size();
}

ApiResult<std::string> read_role(const JsonCursor& given) {
  OCTAVO_TRY(const auto role, to_api_result(given.string()));
  if (role && *role == "developer") return std::string("system");  // OpenAI's newer name for it
  if (role && *role == "function") return std::string("tool");     // and its older one
  for (const std::string_view known : {"system", "user", "assistant", "tool"})
    if (role && *role == known) return std::string(known);
  return refused(given.wrong_value("system, developer, user, assistant or tool"));
}

ApiResult<void> read_content(const JsonCursor& content, ChatMessage& message) {
  constexpr std::string_view kForms = "a string or an array of content parts";
  const json::value* given = content.value();
  if (given == nullptr) {
    if (message.role == "assistant") return {};  // it may have said nothing
    return refused(content.wrong_value(kForms));
  }
  if (const json::array* parts = given->if_array()) {
    OCTAVO_TRY(message.parts, read_parts(content, parts->size()));
  } else if (const json::string* text = given->if_string()) {
    message.content = std::string(*text);
  } else {
    return refused(content.wrong_type(kForms));
  }
  return {};
}

namespace {

constexpr std::string_view kRoles[] = {"system", "developer", "user", "assistant", "tool", "function"};
constexpr std::string_view kPartTypes[] = {"text", "refusal"};
constexpr std::string_view kCallTypes[] = {"function", "custom"};
constexpr std::string_view kArguments = "a string of JSON, or an object";

constexpr ApiField kMessagePartRows[] = {
    field::needed(
        field::one_of("messages[].role", kRoles, "", "who says it; `developer` is `system`, and `function` is `tool`")),
    field::string_or_array("messages[].content", "", "a text, or parts of one; an assistant's message may have none"),
    field::needed(field::one_of("messages[].content[].type", kPartTypes, "", "what the part has")),
    field::string("messages[].content[].text", "", "a part's text"),
    field::string("messages[].content[].refusal", "", "an assistant's text, by another name"),
    field::string("messages[].name", "", "a name for the template; beside a result, its function's"),
    field::string("messages[].tool_call_id", "", "the call whose result the message of a tool has"),
    field::string("messages[].reasoning_content", "", "an assistant's reasoning"),
    field::string("messages[].reasoning", "", "vLLM's name of `reasoning_content`"),
    field::array("messages[].tool_calls", "", "an assistant's calls"),
    field::string("messages[].tool_calls[].id", "", "a call's name, for its result"),
    field::one_of("messages[].tool_calls[].type", kCallTypes, "function", "the kind of tool that is called"),
    field::object("messages[].tool_calls[].function", "", "the function that is called"),
    field::needed(field::string("messages[].tool_calls[].function.name", "", "its name")),
    field::string_or_object("messages[].tool_calls[].function.arguments", "", kArguments),
    field::object("messages[].tool_calls[].custom", "", "the custom tool that is called"),
    field::needed(field::string("messages[].tool_calls[].custom.name", "", "its name")),
    field::needed(field::string("messages[].tool_calls[].custom.input", "", "its text")),
    field::object("messages[].function_call", "", "OpenAI's first form of a call"),
    field::needed(field::string("messages[].function_call.name", "", "the function's name")),
    field::string_or_object("messages[].function_call.arguments", "", kArguments),
};

}  // namespace

const FieldTable kMessagePartFields = kMessagePartRows;

ApiResult<std::vector<ChatMessage>> read_openai_messages(const JsonCursor& given) {
  constexpr std::string_view kForm = "an array of messages";
  OCTAVO_TRY(const json::array* array, to_api_result(given.array(kForm)));
  if (array == nullptr) return refused(given.wrong_value(kForm, "missing_required_parameter"));
  if (array->empty()) return refused(given.error("found an empty array, expected at least one message"));
  std::vector<ChatMessage> messages;
  messages.reserve(array->size());
  for (std::size_t i = 0; i < array->size(); ++i) {
    OCTAVO_TRY(messages.emplace_back(), read_message(given[i]));
  }
  return messages;
}

}  // namespace octavo
