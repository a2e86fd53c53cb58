#include "server/chat_api.h"

#include <string>

#include "base/error.h"
#include "server/messages_answer.h"
#include "server/messages_request.h"
#include "server/ollama_answer.h"
#include "server/ollama_request.h"

namespace octavo::server {

ApiResult<CompletionCall> parse_call(ChatApi api, const boost::json::object& body, const Engine& engine,
                                     const ServedModel& model) {
  switch (api) {
    case ChatApi::kOpenAiCompletion: return parse_completion(body, engine, model);
    case ChatApi::kOpenAiChat: break;
    case ChatApi::kMessages: {
      OCTAVO_TRY(const auto chat, chat_of_messages(body, engine.info(), true));
      return parse_chat_completion(chat, engine, model);
    }
    case ChatApi::kOllamaChat: {
      OCTAVO_TRY(const auto chat, chat_of_ollama_chat(body, engine.info().max_context));
      return parse_chat_completion(chat, engine, model);
    }
    case ChatApi::kOllamaGenerate: {
      OCTAVO_TRY(const auto call, completion_of_ollama_generate(body, engine.info().max_context));
      if (call.asks_for_nothing) {
        const auto stream = call.body.find("stream");
        return CompletionCall{.is_chat = true, .stream = stream != call.body.end() && stream->value() == true};
      }
      return call.is_raw ? parse_completion(call.body, engine, model) : parse_chat_completion(call.body, engine, model);
    }
  }
  return parse_chat_completion(body, engine, model);
}

std::string error_body_at(std::string_view target, const ApiError& error) {
  if (target.starts_with("/api/")) return ollama_error_body(error);
  return target.starts_with("/v1/messages") ? messages_error_body(error) : error_body(error);
}

std::unique_ptr<AnswerWriter> make_writer(ChatApi api, const CompletionCall& call, const Engine& engine,
                                          const ServedModel& model, std::string_view id, std::int64_t created) {
  switch (api) {
    case ChatApi::kMessages: return std::make_unique<MessagesAnswer>(call, "msg_" + std::string(id), model.id);
    case ChatApi::kOllamaChat:
    case ChatApi::kOllamaGenerate:
      return std::make_unique<OllamaAnswer>(call, std::string(id), model.id, api == ChatApi::kOllamaChat);
    default: break;
  }
  const std::string_view prefix = call.is_chat ? "chatcmpl-" : "cmpl-";
  return std::make_unique<CompletionResponse>(call, engine, model, std::string(prefix) + std::string(id), created);
}

}  // namespace octavo::server
