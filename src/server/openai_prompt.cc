// The texts to be continued: the prompts of a completion, the messages of a chat.
#include <fmt/format.h>

#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>
#include <utility>

#include "base/error.h"
#include "base/to_size.h"
#include "server/json_fields.h"
#include "server/openai_request.h"

namespace octavo::server {
namespace {

namespace json = boost::json;

constexpr std::string_view kPromptForms =
    "a string, an array of strings, an array of token ids, or an array of arrays of token ids";

ApiResult<RawPrompt> from_text(const json::string& text, const std::string& name, const Engine& engine) {
  const int context = engine.info().max_context;
  auto tokens = engine.tokenize(text, {.add_special = true, .parse_special = true, .max_tokens = to_size(context)});
  if (!tokens) return std::unexpected(not_tokenized(tokens.error(), context, "prompt", name));
  if (tokens->empty()) {
    return std::unexpected(invalid_value("prompt", name + ": found an empty text, expected at least one token"));
  }
  return RawPrompt{.tokens = std::move(*tokens), .text = std::string_view(text)};
}

ApiResult<RawPrompt> from_ids(const json::array& ids, const std::string& name, int num_tokens) {
  RawPrompt prompt;
  prompt.tokens.reserve(ids.size());
  for (std::size_t i = 0; i < ids.size(); ++i) {
    const auto id = as_integer(ids[i]);
    if (!id || *id < 0 || *id >= num_tokens) {
      ApiError error =
          invalid_type(fmt::format("{}[{}]", name, i), fmt::format("a token id from 0 to {}", num_tokens - 1), ids[i]);
      error.param = "prompt";
      return std::unexpected(std::move(error));
    }
    prompt.tokens.push_back(static_cast<TokenId>(*id));
  }
  if (prompt.tokens.empty()) {
    return std::unexpected(invalid_value("prompt", name + ": found no token ids, expected at least one"));
  }
  return prompt;
}

ApiResult<std::string> join_parts(const json::array& parts, const std::string& name) {
  std::string text;
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
    const auto part_text = fields.string(*type);
    if (fields.failed()) return std::unexpected(*fields.error());
    if (!part_text)
      return std::unexpected(
          invalid_value(place, fmt::format("{}: found no {}, expected the field {}", place, *type, *type)));
    if (i > 0) text += '\n';
    text += *part_text;
  }
  return text;
}

ApiResult<std::string> read_role(JsonFields& fields, const std::string& name) {
  const auto role = fields.string("role");
  if (fields.failed()) return std::unexpected(*fields.error());
  if (role && (*role == "system" || *role == "user" || *role == "assistant")) return std::string(*role);
  if (role && *role == "developer") return std::string("system");  // OpenAI's newer name for it
  if (role && (*role == "tool" || *role == "function"))
    return std::unexpected(unsupported(name + ".role", fmt::format("{}.role: found {}, expected system, developer, "
                                                                   "user or assistant: this server cannot call tools",
                                                                   name, describe(json::value(*role)))));
  const std::string found = role ? describe(json::value(*role)) : "none";
  return std::unexpected(invalid_value(
      name + ".role", fmt::format("{}.role: found {}, expected system, developer, user or assistant", name, found)));
}

ApiResult<ChatMessage> read_message(const json::value& value, const std::string& name) {
  const json::object* object = value.if_object();
  if (object == nullptr) return std::unexpected(invalid_type(name, "a message (an object)", value));
  JsonFields fields(*object, name + ".");
  ChatMessage message;
  OCTAVO_TRY(message.role, read_role(fields, name));
  for (const std::string_view calls : {"tool_calls", "function_call"}) {
    const json::value* found = fields.find(calls);
    if (found == nullptr || (found->is_array() && found->get_array().empty())) continue;
    const std::string field = fields.path_of(calls);
    return std::unexpected(unsupported(field, field + ": this server cannot call tools"));
  }
  const json::value* content = fields.find("content");
  if (content == nullptr) {
    if (message.role == "assistant") return message;  // it may have said nothing
    return std::unexpected(invalid_value(name + ".content", name + ".content: found none, expected a string or an "
                                                                   "array of content parts"));
  }
  if (const json::array* parts = content->if_array()) {
    OCTAVO_TRY(message.content, join_parts(*parts, name + ".content"));
  } else if (const json::string* text = content->if_string()) {
    message.content = std::string(*text);
  } else {
    return std::unexpected(invalid_type(name + ".content", "a string or an array of content parts", *content));
  }
  return message;
}

ApiError missing(const std::string& name, std::string_view expected) {
  return {.status = 400,
          .message = fmt::format("{}: found none, expected {}", name, expected),
          .param = name,
          .code = "missing_required_parameter"};
}

/// Before any of them is tokenized.
ApiResult<void> check_number(std::size_t num_prompts, int n) {
  const auto num_answers = static_cast<std::uint64_t>(num_prompts) * static_cast<std::uint64_t>(n);
  if (num_answers <= static_cast<std::uint64_t>(kMaxAnswersOfCall)) return {};
  return std::unexpected(
      invalid_value("prompt", fmt::format("prompt: found {} prompts with an n of {}, expected at most {} answers",
                                          num_prompts, n, kMaxAnswersOfCall)));
}

}  // namespace

ApiError context_overflow(int context, const std::string& param, std::string_view found) {
  return {.status = 400,
          .message = fmt::format("This model's maximum context length is {} tokens. However, your {} resulted in {}. "
                                 "Please reduce the length of the {}.",
                                 context, param, found, param),
          .param = param,
          .code = "context_length_exceeded"};
}

ApiError not_tokenized(const Error& error, int context, const std::string& param, const std::string& name) {
  if (error.kind == ErrorKind::kContextOverflow)
    return context_overflow(context, param, fmt::format("more than {} tokens", context));
  return invalid_value(param, name + ": " + error.message);
}

ApiResult<std::vector<RawPrompt>> read_prompts(const json::object& body, int n, const Engine& engine) {
  const json::value* value = body.if_contains("prompt");
  if (value == nullptr || value->is_null()) return std::unexpected(missing("prompt", kPromptForms));
  std::vector<RawPrompt> prompts;
  if (const json::string* text = value->if_string()) {
    OCTAVO_TRY(prompts.emplace_back(), from_text(*text, "prompt", engine));
    return prompts;
  }
  const json::array* array = value->if_array();
  if (array == nullptr) return std::unexpected(invalid_type("prompt", kPromptForms, *value));
  if (array->empty())
    return std::unexpected(invalid_value("prompt", "prompt: found an empty array, expected a prompt"));
  const int num_tokens = engine.info().num_tokens;
  if (array->front().is_number()) {
    OCTAVO_TRY(prompts.emplace_back(), from_ids(*array, "prompt", num_tokens));
    return prompts;
  }
  OCTAVO_TRY_VOID(check_number(array->size(), n));
  for (std::size_t i = 0; i < array->size(); ++i) {
    const std::string name = fmt::format("prompt[{}]", i);
    const json::value& element = (*array)[i];
    if (const json::string* text = element.if_string()) {
      OCTAVO_TRY(prompts.emplace_back(), from_text(*text, name, engine));
    } else if (const json::array* ids = element.if_array()) {
      OCTAVO_TRY(prompts.emplace_back(), from_ids(*ids, name, num_tokens));
    } else {
      return std::unexpected(invalid_type(name, "a string or an array of token ids", element));
    }
  }
  return prompts;
}

ApiResult<std::vector<ChatMessage>> read_messages(const json::object& body) {
  const json::value* value = body.if_contains("messages");
  if (value == nullptr || value->is_null()) return std::unexpected(missing("messages", "an array of messages"));
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

ApiResult<std::vector<std::pair<std::string, TemplateValue>>> read_template_names(const json::object& body) {
  constexpr std::string_view kField = "chat_template_kwargs";
  JsonFields fields(body);
  const json::object* given = fields.object(kField);
  if (fields.failed()) return std::unexpected(*fields.error());
  std::vector<std::pair<std::string, TemplateValue>> names;
  if (given == nullptr) return names;
  names.reserve(given->size());
  for (const json::key_value_pair& member : *given) {
    const std::string name(member.key()), path = fmt::format("{}.{}", kField, name);
    for (const std::string_view own : {"messages", "tools", "documents", "add_generation_prompt"})
      if (name == own) return std::unexpected(invalid_value(path, path + ": the template finds this name by itself"));
    const json::value& value = member.value();
    if (value.is_null()) {
      names.emplace_back(name, std::monostate());
    } else if (value.is_bool()) {
      names.emplace_back(name, value.get_bool());
    } else if (value.is_int64()) {
      names.emplace_back(name, value.get_int64());
    } else if (value.is_double()) {
      names.emplace_back(name, value.get_double());
    } else if (value.is_string()) {
      names.emplace_back(name, std::string(value.get_string()));
    } else {
      return std::unexpected(invalid_type(path, "a string, a number, true, false or null", value));
    }
  }
  return names;
}

}  // namespace octavo::server
