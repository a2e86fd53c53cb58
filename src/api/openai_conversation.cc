// The messages of a chat, and what the chat template finds beside them.
#include <fmt/format.h>

#include <boost/json/value.hpp>
#include <utility>

#include "api/json_fields.h"
#include "api/openai_request.h"
#include "api/template_names.h"
#include "base/error.h"

namespace octavo {
namespace {

namespace json = boost::json;

/// Integers beyond 64 bits become doubles.
TemplateValue template_value(const json::value& value) {
  if (value.is_bool()) return value.get_bool();
  if (value.is_int64()) return value.get_int64();
  if (value.is_uint64()) return static_cast<double>(value.get_uint64());
  if (value.is_double()) return value.get_double();
  if (value.is_string()) return std::string(value.get_string());
  if (const json::array* array = value.if_array()) {
    TemplateList list;
    list.reserve(array->size());
    for (const json::value& item : *array) list.push_back(template_value(item));
    return list;
  }
  const json::object* object = value.if_object();
  if (object == nullptr) return {};
  TemplateDict dict;
  dict.reserve(object->size());
  for (const json::key_value_pair& member : *object)
    dict.emplace_back(std::string(member.key()), template_value(member.value()));
  return dict;
}

ApiResult<std::vector<std::string>> read_parts(const JsonCursor& parts, std::size_t num_parts) {
  std::vector<std::string> texts;
  texts.reserve(num_parts);
  for (std::size_t i = 0; i < num_parts; ++i) {
    const JsonCursor part = parts[i];
    OCTAVO_TRY_VOID(to_api_result(part.needed_object("a content part (an object)")));
    OCTAVO_TRY(const auto type, to_api_result(part["type"].string()));
    if (!type) return refused(part.error("found no type, expected \"text\""));
    if (*type != "text" && *type != "refusal") {  // an assistant's refusal is text as well
      return refused(part.error(fmt::format("found {} as the type, expected \"text\": this server reads text only",
                                            describe_json(json::value(*type))),
                                "unsupported_parameter"));
    }
    OCTAVO_TRY(const auto text, to_api_result(part[*type].string()));
    if (!text) return refused(part.error(fmt::format("found no {}, expected the field {}", *type, *type)));
    texts.emplace_back(*text);
  }
  return texts;
}

ApiResult<std::string> read_role(const JsonCursor& given) {
  OCTAVO_TRY(const auto role, to_api_result(given.string()));
  if (role && *role == "developer") return std::string("system");  // OpenAI's newer name for it
  if (role && *role == "function") return std::string("tool");     // and its older one
  for (const std::string_view known : {"system", "user", "assistant", "tool"})
    if (role && *role == known) return std::string(known);
  return refused(given.wrong_value("system, developer, user, assistant or tool"));
}

/// A call of a custom tool as one of the function that stands for it.
ApiResult<ToolCall> read_custom_call(const JsonCursor& call) {
  OCTAVO_TRY(const auto id, to_api_result(call["id"].string()));
  const JsonCursor custom = call["custom"];
  OCTAVO_TRY(const json::object* given, to_api_result(custom.object()));
  if (given == nullptr)
    return refused(custom.wrong_value("an object with a name and an input", "missing_required_parameter"));
  OCTAVO_TRY(const std::string_view called, to_api_result(custom["name"].needed_string()));
  OCTAVO_TRY(const std::string_view input, to_api_result(custom["input"].needed_string()));
  return ToolCall{
      .id = std::string(id.value_or("")), .name = std::string(called), .arguments = arguments_of_input(input)};
}

/// The name and the arguments of a call.
ApiResult<ToolCall> read_called(const JsonCursor& function) {
  OCTAVO_TRY(const auto called, to_api_result(function["name"].string()));
  if (!called || called->empty()) return refused(function["name"].error("found none, expected a tool's name"));
  ToolCall call{.id = {}, .name = std::string(*called), .arguments = std::string("{}")};
  const JsonCursor given = function["arguments"];
  if (const json::value* arguments = given.value()) {
    if (!arguments->is_string() && !arguments->is_object())
      return refused(given.wrong_type("a string of JSON or an object"));
    call.arguments = template_value(*arguments);
  }
  return call;
}

ApiResult<ToolCall> read_call(const JsonCursor& call) {
  if (call.is_given() && is_custom_form(*call.value())) return read_custom_call(call);
  OCTAVO_TRY(const JsonCursor function, read_function(call, "a call (an object)", "a name and arguments"));
  OCTAVO_TRY(const auto id, to_api_result(call["id"].string()));
  OCTAVO_TRY(ToolCall read, read_called(function));
  read.id = id.value_or("");
  return read;
}

/// OpenAI's first form of a call: it has no id, and its result is the next message of the function's name.
ApiResult<void> read_function_call(const JsonCursor& function, ChatMessage& message) {
  OCTAVO_TRY(const json::object* given, to_api_result(function.object()));
  if (given == nullptr) return {};
  if (message.role != "assistant")
    return refused(function.error("found a call, expected it in an assistant's message"));
  OCTAVO_TRY(message.tool_calls.emplace_back(), read_called(function));
  return {};
}

ApiResult<void> read_calls(const JsonCursor& calls, ChatMessage& message) {
  OCTAVO_TRY(const json::array* given, to_api_result(calls.array("an array of calls")));
  if (given == nullptr) return {};
  if (!given->empty() && message.role != "assistant")
    return refused(calls.error("found calls, expected them in an assistant's message"));
  for (std::size_t i = 0; i < given->size(); ++i) {
    OCTAVO_TRY(message.tool_calls.emplace_back(), read_call(calls[i]));
  }
  return {};
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

ApiResult<void> read_text(const JsonCursor& given, std::string& text) {
  OCTAVO_TRY(const auto read, to_api_result(given.string()));
  text = read.value_or("");
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
  if (message.role == "tool") OCTAVO_TRY_VOID(read_text(given["tool_call_id"], message.tool_call_id));
  if (message.role == "assistant") {
    for (const std::string_view field : {"reasoning_content", "reasoning"})
      if (message.reasoning.empty()) OCTAVO_TRY_VOID(read_text(given[field], message.reasoning));
  }
  return message;
}

ApiResult<std::vector<ChatMessage>> read_messages(const JsonCursor& given) {
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

ApiResult<TemplateValue> read_tools(const JsonCursor& tools) {
  OCTAVO_TRY(const json::array* array, to_api_result(tools.array("an array of tools")));
  if (array == nullptr) return TemplateValue();
  for (std::size_t i = 0; i < array->size(); ++i)
    OCTAVO_TRY_VOID(to_api_result(tools[i].needed_object("a tool (an object)")));
  return template_value(*tools.value());
}

ApiResult<TemplateDict> read_names(JsonFields& fields, TemplateDict names) {
  const json::object* given = fields.object("chat_template_kwargs");
  const auto effort = fields.string("reasoning_effort");
  if (fields.failed()) return std::unexpected(*fields.error());
  if (effort) set_template_name(names, "reasoning_effort", std::string(*effort));
  if (given != nullptr) OCTAVO_TRY_VOID(add_template_names(*given, "chat_template_kwargs.", names));
  return names;
}

}  // namespace

void set_template_name(TemplateDict& names, std::string_view name, TemplateValue value) {
  std::erase_if(names, [&](const auto& known) { return known.first == name; });
  names.emplace_back(name, std::move(value));
}

ApiResult<void> add_template_names(const json::object& given, std::string_view path, TemplateDict& names) {
  for (const json::key_value_pair& member : given) {
    const std::string name = fmt::format("{}{}", path, std::string_view(member.key()));
    for (const std::string_view own : {"messages", "tools", "documents", "add_generation_prompt"})
      if (member.key() == own)
        return std::unexpected(invalid_value(name, name + ": the template finds this name by itself"));
    set_template_name(names, member.key(), template_value(member.value()));
  }
  return {};
}

ApiResult<Conversation> read_conversation(const json::object& given, TemplateDict names) {
  OCTAVO_TRY(const FunctionBody functions, FunctionBody::of(given));
  const json::object& body = functions.body();
  Conversation conversation;
  JsonFields fields(body);
  OCTAVO_TRY(conversation.messages, read_messages(fields["messages"]));
  OCTAVO_TRY(conversation.options.tools, read_tools(fields["tools"]));
  const json::value* choice = fields.find("tool_choice");
  const json::string* mode = choice == nullptr ? nullptr : choice->if_string();
  conversation.options.describe_tools = mode == nullptr || *mode != "none";
  OCTAVO_TRY(conversation.options.names, read_names(fields, std::move(names)));
  conversation.options.add_generation_prompt = fields.boolean("add_generation_prompt", true);
  conversation.options.continue_final_message = fields.boolean("continue_final_message", false);
  if (fields.failed()) return std::unexpected(*fields.error());
  if (conversation.options.add_generation_prompt && conversation.options.continue_final_message) {
    return std::unexpected(
        invalid_value("continue_final_message",
                      "continue_final_message: found true beside add_generation_prompt true, expected one of them: set "
                      "add_generation_prompt to false to go on with the last message"));
  }
  return conversation;
}

}  // namespace octavo
