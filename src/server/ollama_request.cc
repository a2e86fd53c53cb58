#include "server/ollama_request.h"

#include <fmt/format.h>

#include <string_view>
#include <utility>

#include "base/error.h"
#include "octavo/request.h"
#include "server/chat_extensions.h"
#include "server/json_fields.h"

namespace octavo::server {
namespace {

namespace json = boost::json;

struct OptionName {
  std::string_view ollama, ours;
};
/// Options about an answer. Those about how a model is loaded (num_gpu, num_thread, use_mmap and their like) are not
/// read: the server has loaded it.
constexpr OptionName kOptions[] = {{"temperature", "temperature"},
                                   {"top_k", "top_k"},
                                   {"top_p", "top_p"},
                                   {"min_p", "min_p"},
                                   {"typical_p", "typical_p"},
                                   {"seed", "seed"},
                                   {"stop", "stop"},
                                   {"repeat_last_n", "repeat_last_n"},
                                   {"repeat_penalty", "repetition_penalty"},
                                   {"presence_penalty", "presence_penalty"},
                                   {"frequency_penalty", "frequency_penalty"},
                                   {"mirostat", "mirostat"},
                                   {"mirostat_tau", "mirostat_tau"},
                                   {"mirostat_eta", "mirostat_eta"},
                                   {"tfs_z", "tfs_z"}};
constexpr std::string_view kLatest = ":latest";

ApiResult<void> add_options(JsonFields& fields, int context, CompletionBody& made) {
  const json::object* options = fields.object("options");
  if (fields.failed()) return std::unexpected(*fields.error());
  if (options == nullptr) return {};
  JsonFields inner(*options, "options.");
  for (const OptionName& name : kOptions)
    if (const json::value* value = inner.find(name.ollama)) made.body[name.ours] = *value;
  const auto num_ctx = inner.integer_from("num_ctx", 0);
  const auto num_predict = inner.integer_from("num_predict", -2);
  if (inner.failed()) return std::unexpected(*inner.error());
  if (num_ctx && *num_ctx > context)
    made.warnings.push_back(
        fmt::format("options.num_ctx: found {}, but the context of this server has {} tokens; a "
                    "prompt is never cut",
                    *num_ctx, context));
  if (num_predict && *num_predict > 0) made.body["max_tokens"] = *num_predict;
  return {};
}

/// "json", or a schema.
ApiResult<void> add_format(JsonFields& fields, json::object& chat) {
  const json::value* format = fields.find("format");
  if (format == nullptr || (format->is_string() && format->get_string().empty())) return {};
  if (*format == "json") {
    chat["response_format"] = {{"type", "json_object"}};
  } else if (format->is_object()) {
    chat["response_format"] = {{"type", "json_schema"}, {"json_schema", {{"name", "answer"}, {"schema", *format}}}};
  } else {
    return std::unexpected(invalid_type("format", "\"json\" or a schema (an object)", *format));
  }
  return {};
}

/// A switch, or how hard to think.
ApiResult<void> add_think(JsonFields& fields, json::object& chat) {
  const json::value* think = fields.find("think");
  if (think == nullptr) return {};
  if (think->is_bool()) {
    chat["chat_template_kwargs"] = {{"enable_thinking", *think}};
  } else if (think->is_string()) {
    chat["reasoning_effort"] = *think;
  } else {
    return std::unexpected(invalid_type("think", "true, false, or \"low\", \"medium\" or \"high\"", *think));
  }
  return {};
}

/// Everything but what is asked.
ApiResult<CompletionBody> common(const json::object& body, JsonFields& fields, int context) {
  CompletionBody made;
  json::object& chat = made.body;
  copy_chat_extensions(body, chat);
  if (const auto model = fields.string("model")) chat["model"] = without_latest(*model);
  chat["stream"] = fields.boolean("stream", true);
  for (const std::string_view name : {"logprobs", "top_logprobs"})
    if (const json::value* value = fields.find(name)) chat[name] = *value;
  if (fields.failed()) return std::unexpected(*fields.error());
  OCTAVO_TRY_VOID(add_options(fields, context, made));
  OCTAVO_TRY_VOID(add_format(fields, chat));
  OCTAVO_TRY_VOID(add_think(fields, chat));
  return made;
}

ApiResult<void> refuse_images(const json::object& object, const std::string& name) {
  const json::value* images = object.if_contains("images");
  const json::array* array = images == nullptr ? nullptr : images->if_array();
  if (array == nullptr || array->empty()) return {};
  return std::unexpected(unsupported(name, name + ": this server reads text only"));
}

/// A call: its arguments are an object in both APIs, but ollama's calls have no names of their own, nor types.
ApiResult<json::array> calls_of(const json::value& value, const std::string& place) {
  const json::array* given = value.if_array();
  if (given == nullptr) return std::unexpected(invalid_type(place, "an array of calls", value));
  json::array calls;
  for (std::size_t i = 0; i < given->size(); ++i) {
    const json::object* call = (*given)[i].if_object();
    const json::value* function = call == nullptr ? nullptr : call->if_contains("function");
    if (function == nullptr)
      return std::unexpected(invalid_type(fmt::format("{}[{}]", place, i), "a call with a function", (*given)[i]));
    calls.push_back(json::object{{"id", fmt::format("call_{}", i)}, {"type", "function"}, {"function", *function}});
  }
  return calls;
}

ApiResult<json::object> message_of(const json::value& value, const std::string& place) {
  const json::object* given = value.if_object();
  if (given == nullptr) return std::unexpected(invalid_type(place, "a message (an object)", value));
  OCTAVO_TRY_VOID(refuse_images(*given, place + ".images"));
  json::object message;
  for (const std::string_view name : {"role", "content"})
    if (const json::value* field = given->if_contains(name)) message[name] = *field;
  if (const json::value* thinking = given->if_contains("thinking")) message["reasoning_content"] = *thinking;
  for (const std::string_view name : {"tool_name", "name"})
    if (const json::value* tool = given->if_contains(name)) message["name"] = *tool;
  if (const json::value* calls = JsonFields(*given).find("tool_calls")) {
    OCTAVO_TRY(json::array made, calls_of(*calls, place + ".tool_calls"));
    message["tool_calls"] = std::move(made);
  }
  return message;
}

/// A completion has one field for what a chat has two.
ApiResult<OllamaGenerate> with_logprobs_of_completion(OllamaGenerate call) {
  JsonFields fields(call.body);
  const int top = fields.integer("top_logprobs", 0, 0, kMaxTopLogprobs);
  const bool are_asked_for = fields.boolean("logprobs", top > 0);
  if (fields.failed()) return std::unexpected(*fields.error());
  call.body.erase("logprobs");
  call.body.erase("top_logprobs");
  if (are_asked_for) call.body["logprobs"] = top;
  return call;
}

}  // namespace

std::string without_latest(std::string_view name) {
  return std::string(name.ends_with(kLatest) ? name.substr(0, name.size() - kLatest.size()) : name);
}

ApiResult<CompletionBody> chat_of_ollama_chat(const json::object& body, int context) {
  JsonFields fields(body);
  OCTAVO_TRY(CompletionBody made, common(body, fields, context));
  json::object& chat = made.body;
  if (const json::value* tools = fields.find("tools")) chat["tools"] = *tools;
  const json::value* value = fields.find("messages");
  json::array messages;
  chat["messages"] = messages;
  if (value == nullptr) return made;
  const json::array* given = value->if_array();
  if (given == nullptr) return std::unexpected(invalid_type("messages", "an array of messages", *value));
  for (std::size_t i = 0; i < given->size(); ++i) {
    OCTAVO_TRY(json::object message, message_of((*given)[i], fmt::format("messages[{}]", i)));
    messages.push_back(std::move(message));
  }
  chat["messages"] = std::move(messages);
  return made;
}

ApiResult<OllamaGenerate> completion_of_ollama_generate(const json::object& body, int context) {
  JsonFields fields(body);
  OCTAVO_TRY(CompletionBody made, common(body, fields, context));
  OllamaGenerate call{.body = std::move(made.body), .warnings = std::move(made.warnings)};
  OCTAVO_TRY_VOID(refuse_images(body, "images"));
  const std::string_view prompt = fields.string("prompt").value_or("");
  const std::string_view system = fields.string("system").value_or("");
  const std::string_view suffix = fields.string("suffix").value_or("");
  call.is_raw = fields.boolean("raw", false) || !suffix.empty();
  call.asks_for_nothing = prompt.empty();
  if (!fields.string("template").value_or("").empty())
    fields.refuse(unsupported("template", "template: this server takes none here"));
  if (const json::value* earlier = fields.find("context");
      earlier != nullptr && earlier->is_array() && !earlier->get_array().empty())
    fields.refuse(unsupported("context", "context: send the conversation to /api/chat, its beginning is found cached"));
  if (fields.failed()) return std::unexpected(*fields.error());
  if (call.is_raw) {
    call.body["prompt"] = prompt;
    if (!suffix.empty()) call.body["suffix"] = suffix;
    call.body.erase("chat_template_kwargs");
    call.body.erase("reasoning_effort");
    return with_logprobs_of_completion(std::move(call));
  }
  json::array messages;
  if (!system.empty()) messages.push_back(json::object{{"role", "system"}, {"content", system}});
  messages.push_back(json::object{{"role", "user"}, {"content", prompt}});
  call.body["messages"] = std::move(messages);
  return call;
}

}  // namespace octavo::server
