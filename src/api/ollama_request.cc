#include "api/ollama_request.h"

#include <fmt/format.h>

#include <string_view>
#include <utility>

#include "api/chat_extensions.h"
#include "api/json_fields.h"
#include "base/error.h"
#include "octavo/request.h"

namespace octavo {
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

ApiResult<void> add_options(const JsonCursor& options, int context, CompletionBody& made) {
  OCTAVO_TRY_VOID(to_api_result(options.object()));
  for (const OptionName& name : kOptions)
    if (const json::value* value = options[name.ollama].value()) made.body[name.ours] = *value;
  OCTAVO_TRY(const auto num_ctx, to_api_result(options["num_ctx"].integer_from(0)));
  OCTAVO_TRY(const auto num_predict, to_api_result(options["num_predict"].integer_from(-2)));
  if (num_ctx && *num_ctx > context)
    made.warnings.push_back(
        fmt::format("options.num_ctx: found {}, but the context of this server has {} tokens; a "
                    "prompt is never cut",
                    *num_ctx, context));
  if (num_predict && *num_predict > 0) made.body["max_tokens"] = *num_predict;
  return {};
}

/// "json", or a schema.
ApiResult<void> add_format(const JsonCursor& given, json::object& chat) {
  const json::value* format = given.value();
  if (format == nullptr || (format->is_string() && format->get_string().empty())) return {};
  if (*format == "json") {
    chat["response_format"] = {{"type", "json_object"}};
  } else if (format->is_object()) {
    chat["response_format"] = {{"type", "json_schema"}, {"json_schema", {{"name", "answer"}, {"schema", *format}}}};
  } else {
    return refused(given.wrong_type("\"json\" or a schema (an object)"));
  }
  return {};
}

/// A switch, or how hard to think.
ApiResult<void> add_think(const JsonCursor& given, json::object& chat) {
  const json::value* think = given.value();
  if (think == nullptr) return {};
  if (think->is_bool()) {
    chat["chat_template_kwargs"] = {{"enable_thinking", *think}};
  } else if (think->is_string()) {
    chat["reasoning_effort"] = *think;
  } else {
    return refused(given.wrong_type("true, false, or \"low\", \"medium\" or \"high\""));
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
  OCTAVO_TRY_VOID(add_options(fields["options"], context, made));
  OCTAVO_TRY_VOID(add_format(fields["format"], chat));
  OCTAVO_TRY_VOID(add_think(fields["think"], chat));
  return made;
}

ApiResult<void> refuse_images(const JsonCursor& images) {
  const json::array* array = images.if_array();
  if (array == nullptr || array->empty()) return {};
  return refused(images.error("this server reads text only", "unsupported_parameter"));
}

/// A call: its arguments are an object in both APIs, but ollama's calls have no names of their own, nor types.
ApiResult<json::array> calls_of(const JsonCursor& value) {
  OCTAVO_TRY(const json::array* given, to_api_result(value.array("an array of calls")));
  json::array calls;
  for (std::size_t i = 0; i < given->size(); ++i) {
    const json::object* call = (*given)[i].if_object();
    const json::value* function = call == nullptr ? nullptr : call->if_contains("function");
    if (function == nullptr) return refused(value[i].wrong_type("a call with a function"));
    calls.push_back(json::object{{"id", fmt::format("call_{}", i)}, {"type", "function"}, {"function", *function}});
  }
  return calls;
}

ApiResult<json::object> message_of(const JsonCursor& value) {
  OCTAVO_TRY(const json::object* given, to_api_result(value.needed_object("a message (an object)")));
  OCTAVO_TRY_VOID(refuse_images(value["images"]));
  json::object message;
  for (const std::string_view name : {"role", "content"})
    if (const json::value* field = given->if_contains(name)) message[name] = *field;
  if (const json::value* thinking = given->if_contains("thinking")) message["reasoning_content"] = *thinking;
  for (const std::string_view name : {"tool_name", "name"})
    if (const json::value* tool = given->if_contains(name)) message["name"] = *tool;
  if (const JsonCursor calls = value["tool_calls"]; calls.is_given()) {
    OCTAVO_TRY(json::array made, calls_of(calls));
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
  const JsonCursor said = fields["messages"];
  OCTAVO_TRY(const json::array* given, to_api_result(said.array("an array of messages")));
  json::array messages;
  for (std::size_t i = 0; given != nullptr && i < given->size(); ++i) {
    OCTAVO_TRY(json::object message, message_of(said[i]));
    messages.push_back(std::move(message));
  }
  chat["messages"] = std::move(messages);
  return made;
}

ApiResult<OllamaGenerate> completion_of_ollama_generate(const json::object& body, int context) {
  JsonFields fields(body);
  OCTAVO_TRY(CompletionBody made, common(body, fields, context));
  OllamaGenerate call{.body = std::move(made.body), .warnings = std::move(made.warnings)};
  OCTAVO_TRY_VOID(refuse_images(fields["images"]));
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

}  // namespace octavo
