#include "api/chat_api.h"

#include <fmt/format.h>

#include <array>
#include <string>
#include <utility>
#include <vector>

#include "api/image_placeholder.h"
#include "api/keep_alive.h"
#include "api/llama_answer.h"
#include "api/llama_request.h"
#include "api/messages_answer.h"
#include "api/messages_request.h"
#include "api/ollama_answer.h"
#include "api/ollama_request.h"
#include "api/own_field_names.h"
#include "api/responses_answer.h"
#include "api/responses_request.h"
#include "base/error.h"

namespace octavo {
namespace {

constexpr std::array<OwnFieldName, 4> kMessagesNames = {{
    {.chat = "response_format.json_schema.schema", .own = "output_config.format.schema"},
    {.chat = "response_format", .own = "output_config.format"},
    {.chat = "reasoning_budget", .own = "thinking.budget_tokens"},
    {.chat = "stop", .own = "stop_sequences"},
}};
constexpr std::array<OwnFieldName, 3> kOllamaNames = {{
    {.chat = "response_format.json_schema.schema", .own = "format"},
    {.chat = "response_format", .own = "format"},
    {.chat = "max_tokens", .own = "options.num_predict"},
}};

ApiResult<CompletionCall> with_names(ApiResult<CompletionCall> call, std::span<const OwnFieldName> names) {
  if (!call) {
    call.error() = with_own_names(std::move(call.error()), names);
  } else {
    call->own_names = names;
    call->warnings = with_own_names(std::move(call->warnings), names);
  }
  return call;
}

ApiResult<CompletionCall> with_warnings(ApiResult<CompletionCall> call, const std::vector<std::string>& warnings) {
  if (call) call->warnings.insert(call->warnings.end(), warnings.begin(), warnings.end());
  return call;
}

/// A completion whose body was made of another. `otherwise`: see parse_completion().
ApiResult<CompletionCall> parse_body(const ApiResult<CompletionBody>& made, const Engine& engine,
                                     const ServedModel& model, int otherwise) {
  if (!made) return std::unexpected(made.error());
  return with_warnings(parse_completion(made->body, engine, model, otherwise), made->warnings);
}

/// Of a body that asks for nothing: its model is there.
CompletionCall load_call(const boost::json::object& chat) {
  const boost::json::value* stream = chat.if_contains("stream");
  return CompletionCall{.is_chat = true, .stream = stream != nullptr && *stream == true};
}

ApiResult<CompletionCall> parse_generate(const boost::json::object& body, const Engine& engine,
                                         const ServedModel& model) {
  OCTAVO_TRY(const auto call, completion_of_ollama_generate(body, engine.info().max_context));
  if (call.asks_for_nothing) return load_call(call.body);
  if (!call.is_raw) return with_warnings(parse_chat_completion(call.body, engine, model), call.warnings);
  if (has_suffix(call.body))
    return with_warnings(parse_body(completion_of_suffix(call.body, engine), engine, model, 0), call.warnings);
  return with_warnings(parse_completion(call.body, engine, model, 0), call.warnings);
}

ApiResult<CompletionCall> parse_ollama_chat(const boost::json::object& body, const Engine& engine,
                                            const ServedModel& model) {
  OCTAVO_TRY(const auto chat, chat_of_ollama_chat(body, engine.info().max_context));
  if (chat.body.at("messages").as_array().empty()) return load_call(chat.body);
  return with_warnings(parse_chat_completion(chat.body, engine, model), chat.warnings);
}

ApiResult<CompletionCall> parse_ollama(ChatApi api, const boost::json::object& body, const Engine& engine,
                                       const ServedModel& model) {
  OCTAVO_TRY(const auto keep_alive, keep_alive_of(body));
  OCTAVO_TRY(CompletionCall call, api == ChatApi::kOllamaChat ? parse_ollama_chat(body, engine, model)
                                                              : parse_generate(body, engine, model));
  call.keep_alive = keep_alive;
  return call;
}

ApiResult<CompletionCall> parse_texts(ChatApi api, const boost::json::object& body, const Engine& engine,
                                      const ServedModel& model, const OwnResponses& responses) {
  switch (api) {
    case ChatApi::kOpenAiCompletion:
      if (has_suffix(body)) return parse_body(completion_of_suffix(body, engine), engine, model, kDefaultMaxTokens);
      return parse_completion(body, engine, model);
    case ChatApi::kOpenAiChat: break;
    case ChatApi::kMessages: {
      OCTAVO_TRY(const auto chat, chat_of_messages(body, engine.info(), true));
      return with_names(with_warnings(parse_chat_completion(chat.body, engine, model), chat.warnings), kMessagesNames);
    }
    case ChatApi::kResponses: return parse_response_call(body, engine, model, responses);
    case ChatApi::kOllamaChat:
    case ChatApi::kOllamaGenerate: return with_names(parse_ollama(api, body, engine, model), kOllamaNames);
    case ChatApi::kLlamaCompletion: return parse_body(completion_of_llama(body), engine, model, 0);
    case ChatApi::kLlamaInfill: return parse_body(completion_of_infill(body, engine), engine, model, 0);
  }
  return parse_chat_completion(body, engine, model);
}

}  // namespace

ApiResult<CompletionCall> parse_call(ChatApi api, boost::json::object body, const Engine& engine,
                                     const ServedModel& model, const OwnResponses& responses) {
  const std::size_t num_images = model.image_placeholder.empty() ? 0 : replace_images(body, model.image_placeholder);
  OCTAVO_TRY(CompletionCall call, parse_texts(api, body, engine, model, responses));
  if (num_images > 0)
    call.warnings.push_back(
        fmt::format("{} of the request's images are replaced by the text '{}': the model reads text", num_images,
                    model.image_placeholder));
  return call;
}

std::unique_ptr<AnswerWriter> make_writer(ChatApi api, const CompletionCall& call, const Engine& engine,
                                          const ServedModel& model, std::string_view id, std::int64_t created) {
  switch (api) {
    case ChatApi::kMessages: return std::make_unique<MessagesAnswer>(call, "msg_" + std::string(id), model.id);
    case ChatApi::kResponses: return std::make_unique<ResponsesAnswer>(call, engine, model.id, created);
    case ChatApi::kLlamaCompletion:
    case ChatApi::kLlamaInfill: return std::make_unique<LlamaAnswer>(call, std::string(id), model.id, engine);
    case ChatApi::kOllamaChat:
    case ChatApi::kOllamaGenerate:
      return std::make_unique<OllamaAnswer>(call, std::string(id), model.id, engine, api == ChatApi::kOllamaChat);
    default: break;
  }
  const std::string_view prefix = call.is_chat ? "chatcmpl-" : "cmpl-";
  return std::make_unique<CompletionResponse>(call, engine, model, std::string(prefix) + std::string(id), created);
}

}  // namespace octavo
