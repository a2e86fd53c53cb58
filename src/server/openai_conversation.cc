// The messages of a chat, and what the chat template finds beside them.
#include <fmt/format.h>

#include <boost/json/value.hpp>
#include <utility>

#include "base/error.h"
#include "server/json_fields.h"
#include "server/openai_request.h"

namespace octavo::server {
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

ApiResult<std::vector<std::string>> read_parts(const json::array& parts, const std::string& name) {
  std::vector<std::string> texts;
  texts.reserve(parts.size());
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const std::string place = fmt::format("{}[{}]", name, i);
    const json::object* part = parts[i].if_object();
    if (part == nullptr) return std::unexpected(invalid_type(place, "a content part (an object)", parts[i]));
    JsonFields fields(*part, place + ".");
    const auto type = fields.string("type");
    if (fields.failed()) return std::unexpected(*fields.error());
    if (!type) return std::unexpected(invalid_value(place, place + ": found no type, expected \"text\""));
    if (*type != "text" && *type != "refusal") {  // an assistant's refusal is text as well
      return std::unexpected(
          unsupported(place, fmt::format("{}: found {} as the type, expected \"text\": this server reads text only",
                                         place, describe(json::value(*type)))));
    }
    const auto text = fields.string(*type);
    if (fields.failed()) return std::unexpected(*fields.error());
    if (!text)
      return std::unexpected(
          invalid_value(place, fmt::format("{}: found no {}, expected the field {}", place, *type, *type)));
    texts.emplace_back(*text);
  }
  return texts;
}

ApiResult<std::string> read_role(JsonFields& fields, const std::string& name) {
  const auto role = fields.string("role");
  if (fields.failed()) return std::unexpected(*fields.error());
  if (role && *role == "developer") return std::string("system");  // OpenAI's newer name for it
  if (role && *role == "function") return std::string("tool");     // and its older one
  for (const std::string_view known : {"system", "user", "assistant", "tool"})
    if (role && *role == known) return std::string(known);
  const std::string found = role ? describe(json::value(*role)) : "none";
  return std::unexpected(invalid_value(
      name + ".role",
      fmt::format("{}.role: found {}, expected system, developer, user, assistant or tool", name, found)));
}

/// A call of a custom tool as one of the function that stands for it.
ApiResult<ToolCall> read_custom_call(const json::object& object, const std::string& name) {
  JsonFields fields(object, name + ".");
  const auto id = fields.string("id");
  const json::object* custom = fields.object("custom");
  if (fields.failed()) return std::unexpected(*fields.error());
  if (custom == nullptr) return std::unexpected(missing_field(name + ".custom", "an object with a name and an input"));
  JsonFields inner(*custom, name + ".custom.");
  OCTAVO_TRY(const std::string_view called, inner.needed_string("name"));
  OCTAVO_TRY(const std::string_view input, inner.needed_string("input"));
  return ToolCall{
      .id = std::string(id.value_or("")), .name = std::string(called), .arguments = arguments_of_input(input)};
}

/// The name and the arguments of a call.
ApiResult<ToolCall> read_called(const json::object& function, const std::string& place) {
  JsonFields fields(function, place);
  const auto called = fields.string("name");
  if (fields.failed()) return std::unexpected(*fields.error());
  const std::string field = fields.path_of("name");
  if (!called || called->empty())
    return std::unexpected(invalid_value(field, field + ": found none, expected a tool's name"));
  ToolCall call{.id = {}, .name = std::string(*called), .arguments = std::string("{}")};
  if (const json::value* arguments = fields.find("arguments")) {
    if (!arguments->is_string() && !arguments->is_object()) {
      return std::unexpected(invalid_type(fields.path_of("arguments"), "a string of JSON or an object", *arguments));
    }
    call.arguments = template_value(*arguments);
  }
  return call;
}

ApiResult<ToolCall> read_call(const json::value& value, const std::string& name) {
  const json::object* object = value.if_object();
  if (object == nullptr) return std::unexpected(invalid_type(name, "a call (an object)", value));
  if (is_custom_form(value)) return read_custom_call(*object, name);
  JsonFields fields(*object, name + ".");
  OCTAVO_TRY(const json::object* function, read_function(fields, "a name and arguments"));
  const auto id = fields.string("id");
  if (fields.failed()) return std::unexpected(*fields.error());
  OCTAVO_TRY(ToolCall call, read_called(*function, name + ".function."));
  call.id = id.value_or("");
  return call;
}

/// OpenAI's first form of a call: it has no id, and its result is the next message of the function's name.
ApiResult<void> read_function_call(JsonFields& fields, ChatMessage& message) {
  const json::object* function = fields.object("function_call");
  if (fields.failed()) return std::unexpected(*fields.error());
  if (function == nullptr) return {};
  const std::string name = fields.path_of("function_call");
  if (message.role != "assistant")
    return std::unexpected(invalid_value(name, name + ": found a call, expected it in an assistant's message"));
  OCTAVO_TRY(message.tool_calls.emplace_back(), read_called(*function, name + "."));
  return {};
}

ApiResult<void> read_calls(JsonFields& fields, ChatMessage& message) {
  OCTAVO_TRY_VOID(read_function_call(fields, message));
  const json::value* calls = fields.find("tool_calls");
  if (calls == nullptr) return {};
  const std::string name = fields.path_of("tool_calls");
  const json::array* array = calls->if_array();
  if (array == nullptr) return std::unexpected(invalid_type(name, "an array of calls", *calls));
  if (!array->empty() && message.role != "assistant") {
    return std::unexpected(invalid_value(name, name + ": found calls, expected them in an assistant's message"));
  }
  for (std::size_t i = 0; i < array->size(); ++i) {
    OCTAVO_TRY(message.tool_calls.emplace_back(), read_call((*array)[i], fmt::format("{}[{}]", name, i)));
  }
  return {};
}

ApiResult<void> read_content(const JsonFields& fields, const std::string& name, ChatMessage& message) {
  const json::value* content = fields.find("content");
  if (content == nullptr) {
    if (message.role == "assistant") return {};  // it may have said nothing
    return std::unexpected(invalid_value(name + ".content", name + ".content: found none, expected a string or an "
                                                                   "array of content parts"));
  }
  if (const json::array* parts = content->if_array()) {
    OCTAVO_TRY(message.parts, read_parts(*parts, name + ".content"));
  } else if (const json::string* text = content->if_string()) {
    message.content = std::string(*text);
  } else {
    return std::unexpected(invalid_type(name + ".content", "a string or an array of content parts", *content));
  }
  return {};
}

ApiResult<ChatMessage> read_message(const json::value& value, const std::string& name) {
  const json::object* object = value.if_object();
  if (object == nullptr) return std::unexpected(invalid_type(name, "a message (an object)", value));
  JsonFields fields(*object, name + ".");
  ChatMessage message;
  OCTAVO_TRY(message.role, read_role(fields, name));
  OCTAVO_TRY_VOID(read_calls(fields, message));
  OCTAVO_TRY_VOID(read_content(fields, name, message));
  message.name = fields.string("name").value_or("");
  if (message.role == "tool") message.tool_call_id = fields.string("tool_call_id").value_or("");
  if (message.role == "assistant") {
    for (const std::string_view field : {"reasoning_content", "reasoning"})
      if (message.reasoning.empty()) message.reasoning = fields.string(field).value_or("");
  }
  if (fields.failed()) return std::unexpected(*fields.error());
  return message;
}

ApiResult<std::vector<ChatMessage>> read_messages(const json::object& body) {
  const json::value* value = body.if_contains("messages");
  if (value == nullptr || value->is_null()) return std::unexpected(missing_field("messages", "an array of messages"));
  const json::array* array = value->if_array();
  if (array == nullptr) return std::unexpected(invalid_type("messages", "an array of messages", *value));
  if (array->empty()) {
    return std::unexpected(invalid_value("messages", "messages: found an empty array, expected at least one message"));
  }
  std::vector<ChatMessage> messages;
  messages.reserve(array->size());
  for (std::size_t i = 0; i < array->size(); ++i) {
    OCTAVO_TRY(messages.emplace_back(), read_message((*array)[i], fmt::format("messages[{}]", i)));
  }
  return messages;
}

ApiResult<TemplateValue> read_tools(JsonFields& fields) {
  const json::value* tools = fields.find("tools");
  if (tools == nullptr) return TemplateValue();
  const json::array* array = tools->if_array();
  if (array == nullptr) return std::unexpected(invalid_type("tools", "an array of tools", *tools));
  for (std::size_t i = 0; i < array->size(); ++i) {
    if (!(*array)[i].is_object())
      return std::unexpected(invalid_type(fmt::format("tools[{}]", i), "a tool (an object)", (*array)[i]));
  }
  return template_value(*tools);
}

ApiResult<TemplateDict> read_names(JsonFields& fields) {
  constexpr std::string_view kField = "chat_template_kwargs";
  const json::object* given = fields.object(kField);
  const auto effort = fields.string("reasoning_effort");
  if (fields.failed()) return std::unexpected(*fields.error());
  TemplateDict names;
  if (effort) names.emplace_back("reasoning_effort", std::string(*effort));
  if (given == nullptr) return names;
  for (const json::key_value_pair& member : *given) {
    const std::string name(member.key()), path = fmt::format("{}.{}", kField, name);
    for (const std::string_view own : {"messages", "tools", "documents", "add_generation_prompt"})
      if (name == own) return std::unexpected(invalid_value(path, path + ": the template finds this name by itself"));
    names.emplace_back(name, template_value(member.value()));
  }
  return names;
}

}  // namespace

ApiResult<Conversation> read_conversation(const json::object& given) {
  OCTAVO_TRY(const FunctionBody functions, FunctionBody::of(given));
  const json::object& body = functions.body();
  Conversation conversation;
  OCTAVO_TRY(conversation.messages, read_messages(body));
  JsonFields fields(body);
  OCTAVO_TRY(conversation.options.tools, read_tools(fields));
  const json::value* choice = fields.find("tool_choice");
  const json::string* mode = choice == nullptr ? nullptr : choice->if_string();
  conversation.options.describe_tools = mode == nullptr || *mode != "none";
  OCTAVO_TRY(conversation.options.names, read_names(fields));
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

}  // namespace octavo::server
