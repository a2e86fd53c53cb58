#include "api/fields/openai_messages.h"

#include <fmt/format.h>

#include <boost/json/value.hpp>
#include <utility>

#include "api/call/custom_tools.h"
#include "api/call/template_names.h"
#include "api/call/tool_fields.h"
#include "base/error.h"

namespace octavo {
namespace {

namespace json = boost::json;

constexpr std::string_view kContentForms = "a string or an array of content parts";

/// Reads a call of a custom tool as a call of the function that stands for the tool.
ApiResult<ToolCall> read_custom_call(const JsonCursor& call) {
  OCTAVO_TRY(const auto id, to_api_result(call["id"].string()));
  OCTAVO_TRY(const JsonCursor custom, custom_in(call, "a name and an input"));
  OCTAVO_TRY(const auto called, to_api_result(custom["name"].string()));
  OCTAVO_TRY(const auto input, to_api_result(custom["input"].string()));
  const bool has_name = called && !called->empty();
  return ToolCall{.id = std::string(id.value_or("")),
                  .name = std::string(has_name ? *called : kUnknownTool),
                  .arguments = arguments_of_input(input.value_or(""))};
}

/// Reads a call, whatever its type says. A call without a function, of another server's kind, is shown as it is.
ApiResult<ToolCall> read_call(const JsonCursor& call) {
  if (call.is_given() && is_custom_form(*call.value())) return read_custom_call(call);
  OCTAVO_TRY_VOID(to_api_result(call.needed_object("a call (an object)")));
  OCTAVO_TRY(const auto type, to_api_result(call["type"].string()));
  OCTAVO_TRY(const auto id, to_api_result(call["id"].string()));
  ToolCall read;
  if (call["function"].is_given() || type.value_or("function") == "function") {
    const JsonCursor function = call["function"];
    OCTAVO_TRY(const json::object* given, to_api_result(function.object()));
    if (given == nullptr) return refused(function.wrong_value("an object with a name and arguments"));
    OCTAVO_TRY(read, read_called(function));
  } else {
    read = {
        .id = {}, .name = std::string(type->empty() ? kUnknownTool : *type), .arguments = arguments_text(call.value())};
  }
  read.id = id.value_or("");
  return read;
}

/// Reads `function_call`, OpenAI's older form of a call: it has no id, and its result is the next message with the
/// function's name.
ApiResult<void> read_function_call(const JsonCursor& function, ChatMessage& message) {
  OCTAVO_TRY(const json::object* given, to_api_result(function.object()));
  if (given == nullptr || given->empty()) return {};
  if (message.role != "assistant")
    return refused(function.error("found a call, expected it in an assistant's message"));
  OCTAVO_TRY(message.tool_calls.emplace_back(), read_called(function));
  return {};
}

ApiResult<void> read_calls(const JsonCursor& calls, ChatMessage& message) {
  OCTAVO_TRY(const std::size_t count, count_calls(calls, message.role));
  for (std::size_t i = 0; i < count; ++i) {
    OCTAVO_TRY(message.tool_calls.emplace_back(), read_call(calls[i]));
  }
  return {};
}

/// Reads the words of an assistant's message that other members have: a refusal, or the transcript of speech.
void read_other_content(const JsonCursor& given, ChatMessage& message) {
  if (message.role != "assistant" || !message.content.empty() || !message.parts.empty()) return;
  if (const json::string* refusal = given["refusal"].if_string()) {
    message.content = std::string(*refusal);
  } else if (given["audio"].if_object() != nullptr) {
    const json::string* spoken = given["audio"]["transcript"].if_string();
    message.content = spoken == nullptr ? unseen("a recording") : std::string(*spoken);
  }
}

ApiResult<ChatMessage> read_message(const JsonCursor& given, bool is_newest, HistoryReader& history) {
  OCTAVO_TRY_VOID(to_api_result(given.needed_object("a message (an object)")));
  ChatMessage message;
  OCTAVO_TRY(message.role, read_role(given["role"]));
  OCTAVO_TRY_VOID(read_function_call(given["function_call"], message));
  OCTAVO_TRY_VOID(read_calls(given["tool_calls"], message));
  OCTAVO_TRY_VOID(read_content(given["content"], is_newest, history, message));
  read_other_content(given, message);
  OCTAVO_TRY_VOID(read_text(given["name"], message.name));
  OCTAVO_TRY_VOID(read_text(given["tool_call_id"], message.tool_call_id));
  if (message.role != "tool") message.tool_call_id.clear();
  std::string thought, by_other_name;  // each of them replaces what parts of the content say
  OCTAVO_TRY_VOID(read_text(given["reasoning_content"], thought));
  OCTAVO_TRY_VOID(read_text(given["reasoning"], by_other_name));
  if (thought.empty()) thought = std::move(by_other_name);
  if (!thought.empty()) message.reasoning = std::move(thought);
  if (message.role != "assistant") message.reasoning.clear();
  return message;
}

}  // namespace

ApiResult<void> read_text(const JsonCursor& given, std::string& text) {
  OCTAVO_TRY(const auto read, to_api_result(given.string()));
  text = read.value_or("");
  return {};
}

ApiResult<ToolCall> read_called(const JsonCursor& function) {
  OCTAVO_TRY(const auto called, to_api_result(function["name"].string()));
  ToolCall call{.id = {}, .name = std::string(called.value_or("")), .arguments = std::string("{}")};
  if (call.name.empty()) call.name = kUnknownTool;
  const JsonCursor given = function["arguments"];
  if (const json::object* arguments = given.if_object()) {
    call.arguments = template_value(*arguments);
  } else if (given.is_given()) {
    call.arguments = arguments_text(given.value());
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

ApiResult<void> read_content(const JsonCursor& content, bool is_newest, HistoryReader& history, ChatMessage& message) {
  if (!content.is_given())
    return is_newest ? ApiResult<void>(refused(content.wrong_value(kContentForms))) : ApiResult<void>();
  if (const json::string* text = content.if_string()) {
    message.content = std::string(*text);
    return {};
  }
  const json::array* parts = content.if_array();
  if (parts == nullptr && message.role != "tool") return refused(content.wrong_type(kContentForms));
  if (parts == nullptr) message.content = arguments_text(content.value());  // a tool's result may be an object
  for (std::size_t i = 0; parts != nullptr && i < parts->size(); ++i) {
    OCTAVO_TRY(ReadPart part, history.read_part(content[i], is_newest));
    OCTAVO_TRY_VOID(history.add(std::move(part), message));
  }
  return {};
}

std::size_t newest_message(const JsonCursor& messages, std::size_t count) {
  std::vector<Speaker> speakers;
  speakers.reserve(count);
  for (std::size_t i = 0; i < count; ++i) {
    const json::string* given = messages[i]["role"].if_string();
    const std::string_view role = given == nullptr ? std::string_view() : std::string_view(*given);
    speakers.push_back(role == "user"                            ? Speaker::kUser
                       : role == "tool" || role == "function"    ? Speaker::kTool
                       : role == "system" || role == "developer" ? Speaker::kAside
                                                                 : Speaker::kModel);
  }
  return newest_of(speakers);
}

namespace {

constexpr std::string_view kRoles[] = {"system", "developer", "user", "assistant", "tool", "function"};
constexpr std::string_view kArguments = "an object, or a text: JSON where the model wrote it whole";

constexpr std::string_view kPicture = "a picture, for a model that sees: an object, or its `url` alone";
constexpr std::string_view kDetails[] = {"auto", "low", "high", "original"};
constexpr std::string_view kDetail =
    "how many tokens it becomes: `low` at most 256, `high` as many as the model can use";

constexpr ApiField kMessagePartRows[] = {
    field::needed(
        field::one_of("messages[].role", kRoles, "", "who says it; `developer` is `system`, and `function` is `tool`")),
    field::string_or_array("messages[].content", "", "a text, or parts; the user's newest message must have it"),
    field::needed(field::string("messages[].content[].type", "", "what the part has: any kind")),
    field::string("messages[].content[].text", "", "a part's text"),
    field::string_or_object("messages[].content[].image_url", "", kPicture),
    field::string("messages[].content[].image_url.url", "",
                  "a data URL, base64, or an address that may be fetched from"),
    field::one_of("messages[].content[].image_url.detail", kDetails, "auto", kDetail),
    field::string("messages[].content[].image", "", "a picture by another name, in the same forms"),
    field::string("messages[].content[].refusal", "", "an assistant's text, by another name"),
    field::string("messages[].name", "", "a name for the template; beside a result, its function's"),
    field::string("messages[].tool_call_id", "", "the call whose result the message of a tool has"),
    field::string("messages[].reasoning_content", "", "an assistant's reasoning"),
    field::string("messages[].reasoning", "", "vLLM's name of `reasoning_content`"),
    field::array("messages[].tool_calls", "", "an assistant's calls"),
    field::string("messages[].tool_calls[].id", "", "a call's name, for its result"),
    field::string("messages[].tool_calls[].type", "function", "the kind of tool: `custom`, or any other of a function"),
    field::object("messages[].tool_calls[].function", "", "the function that is called"),
    field::needed(field::string("messages[].tool_calls[].function.name", "", "its name")),
    field::any("messages[].tool_calls[].function.arguments", "", kArguments),
    field::object("messages[].tool_calls[].custom", "", "the custom tool that is called"),
    field::needed(field::string("messages[].tool_calls[].custom.name", "", "its name")),
    field::needed(field::string("messages[].tool_calls[].custom.input", "", "its text")),
    field::object("messages[].function_call", "", "OpenAI's first form of a call"),
    field::needed(field::string("messages[].function_call.name", "", "the function's name")),
    field::any("messages[].function_call.arguments", "", kArguments),
};

}  // namespace

const FieldTable kMessagePartFields = kMessagePartRows;

ApiResult<std::vector<ChatMessage>> read_openai_messages(const JsonCursor& given, HistoryReader& history) {
  constexpr std::string_view kForm = "an array of messages";
  OCTAVO_TRY(const json::array* array, to_api_result(given.array(kForm)));
  if (array == nullptr) return refused(given.wrong_value(kForm, "missing_required_parameter"));
  if (array->empty()) return refused(given.error("found an empty array, expected at least one message"));
  std::vector<ChatMessage> messages;
  messages.reserve(array->size());
  const std::size_t newest = newest_message(given, array->size());
  for (std::size_t i = 0; i < array->size(); ++i) {
    OCTAVO_TRY(messages.emplace_back(), read_message(given[i], i == newest, history));
  }
  return messages;
}

}  // namespace octavo
